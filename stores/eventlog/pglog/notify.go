package pglog

import "time"

// channel is where who appends tells who waits.
const channel = "assay_log"

// notifyEvery is how soon after one notification there is another: who was woken looks for more
// events by himself, after 1 ms, 2 ms and so on.
const notifyEvery = 10 * time.Millisecond
