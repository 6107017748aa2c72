package queue

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/assaydb/assay/kv"
)

// MaxKey is the longest key of a unique job, in bytes.
const MaxKey = 255

// special is what most jobs do not have. It is kept as JSON.
type special struct {
	MaxAttempts int    `json:"max_attempts,omitempty"` // as in Draft
	Timeout     int64  `json:"timeout,omitempty"`      // in milliseconds
	Key         string `json:"key,omitempty"`
	KeyUntil    int64  `json:"key_until,omitempty"` // in milliseconds since 1970
}

// Special returns what backends keep of a draft that is published at now, in milliseconds since
// 1970, beside its payload: a JSON object, or nil if there is nothing. It may have "max_attempts",
// which is NoLimit for none, and "key", "key_until".
func (d *Draft) Special(now int64) []byte {
	if d.MaxAttempts == 0 && d.Timeout == 0 && d.Key == "" {
		return nil
	}
	s := special{MaxAttempts: d.MaxAttempts, Timeout: d.Timeout.Milliseconds(), Key: d.Key}
	if d.KeyFor > 0 {
		s.KeyUntil = now + d.KeyFor.Milliseconds()
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // numbers and a text that was checked
	}
	return text
}

func parseSpecial(id uint64, text []byte) (s special, err error) {
	if err := json.Unmarshal(text, &s); err != nil {
		return s, corrupt("job %d: %q: %w", id, text, err)
	}
	return s, nil
}

// check refuses a draft that cannot be published, the i-th of its call.
func (d *Draft) check(i int) error {
	switch {
	case d.Delay < 0 || d.Delay > maxDelay:
		return invalid("publish", fmt.Errorf("job %d: delay %v", i, d.Delay), "give 0 to 100 years")
	case d.MaxAttempts < NoLimit || d.MaxAttempts > maxAttempts:
		return invalid("publish", fmt.Errorf("job %d: max attempts %d", i, d.MaxAttempts),
			fmt.Sprintf("give 1 to %d, 0 for what the queue has, or NoLimit", maxAttempts))
	case d.Timeout < 0 || d.Timeout > maxDelay || d.Timeout > 0 && d.Timeout < time.Millisecond:
		return invalid("publish", fmt.Errorf("job %d: timeout %v", i, d.Timeout),
			"give a millisecond to 100 years, or 0 for what the queue has")
	case !utf8.ValidString(d.Key):
		return invalid("publish", fmt.Errorf("job %d: key %q is not UTF-8", i, d.Key), "")
	case len(d.Key) > MaxKey:
		return &kv.Error{Op: "publish", Kind: kv.TooLarge,
			Err: fmt.Errorf("job %d: key of %d bytes, at most %d", i, len(d.Key), MaxKey), Hint: "use a hash of it"}
	case d.KeyFor < 0 || d.KeyFor > maxDelay:
		return invalid("publish", fmt.Errorf("job %d: period of a key %v", i, d.KeyFor), "give 0 to 100 years")
	case d.KeyFor > 0 && d.Key == "":
		return invalid("publish", fmt.Errorf("job %d: a period and no key", i), "name the key that is to be unique")
	}
	return nil
}
