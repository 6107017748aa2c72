package transfer

// Full is when a transaction of a copy ends.
var Full = full
