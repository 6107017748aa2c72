package pglog

import "time"

// channel is where who appends tells who waits.
const channel = "assay_log"

// notifyEvery is how soon after one notification there is another: those who wait look for more
// events by themselves.
const notifyEvery = 2 * time.Millisecond
