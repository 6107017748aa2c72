package transfer

import (
	"context"
	"fmt"

	"github.com/assaydb/assay/kv"
)

// Misfit is the error of a copy to an engine that cannot hold all pairs. Its kind is TooLarge.
type Misfit struct {
	Count            int64  // of the pairs that do not fit
	First            []Pair // some of them, in the order of their keys; see Options.Limit
	MaxKey, MaxValue int    // of the destination, in bytes; 0 is no limit
}

// Pair is a key and the length of its value, in bytes.
type Pair struct {
	Key   []byte `json:"key"`
	Value int    `json:"value_bytes"`
}

// Error says how many pairs do not fit, and names some.
func (m *Misfit) Error() string {
	text := fmt.Sprintf("%d pairs do not fit (keys of at most %s, values of at most %s):", m.Count, limit(m.MaxKey),
		limit(m.MaxValue))
	for _, p := range m.First {
		text += fmt.Sprintf("\n  a key of %d bytes, %s, with a value of %d", len(p.Key), excerpt(p.Key), p.Value)
	}
	if more := m.Count - int64(len(m.First)); more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	return text
}

// Is reports that m is of kind TooLarge.
func (m *Misfit) Is(target error) bool { return target == kv.TooLarge }

func limit(n int) string {
	if n == 0 {
		return "any length"
	}
	return fmt.Sprintf("%d bytes", n)
}

// excerpt returns key, quoted, or the beginning of a long one.
func excerpt(key []byte) string {
	const most = 40
	if len(key) > most {
		return fmt.Sprintf("%q...", key[:most])
	}
	return fmt.Sprintf("%q", key)
}

// fits looks at all pairs before any is copied, if the destination has limits that the source does
// not have.
func (c *copier) fits(ctx context.Context, caps kv.Caps) error {
	misfit := Misfit{MaxKey: caps.MaxKey, MaxValue: caps.MaxValue}
	o := c.o
	if source := c.source.Caps(); o.Change == nil {
		caps.MaxKey, caps.MaxValue = beyond(source.MaxKey, caps.MaxKey), beyond(source.MaxValue, caps.MaxValue)
		o.Range.KeysOnly = caps.MaxValue == 0
	}
	if caps.MaxKey == 0 && caps.MaxValue == 0 {
		return nil
	}
	var d digest
	said := int64(0)
	err := o.each(ctx, c.source, func(k, v []byte) error {
		d.pairs++
		d.bytes += int64(len(k) + len(v))
		if d.bytes-said >= batchBytes {
			said = d.bytes
			o.Progress(Progress{Phase: "check", Pairs: d.pairs, Bytes: d.bytes})
		}
		if (caps.MaxKey == 0 || len(k) <= caps.MaxKey) && (caps.MaxValue == 0 || len(v) <= caps.MaxValue) {
			return nil
		}
		if misfit.Count++; len(misfit.First) < o.Limit {
			misfit.First = append(misfit.First, Pair{Key: append([]byte(nil), k...), Value: len(v)})
		}
		return nil
	})
	if err != nil || misfit.Count == 0 {
		return err
	}
	return &kv.Error{Kind: kv.TooLarge, Err: &misfit, Hint: "choose an engine with larger limits, or leave these pairs out"}
}

// beyond returns the limit, or none if nothing in the source can be beyond it.
func beyond(source, limit int) int {
	if source > 0 && source <= limit {
		return 0
	}
	return limit
}
