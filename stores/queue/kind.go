package queue

import (
	"context"
	"encoding/json"
	"fmt"
)

// Kind is a kind of job: the queue of that name, and how a T is written in the payloads of its
// jobs. Publishers and workers share one value:
//
//	var mail = queue.Kind[Letter]{Name: "mail"}
type Kind[T any] struct {
	Name  string   // of its queue
	Codec Codec[T] // nil is JSON
}

// Codec writes and reads a T. It may be used concurrently.
type Codec[T any] interface {
	Encode(T) ([]byte, error)
	Decode([]byte) (T, error)
}

// JSON is the Codec of encoding/json.
type JSON[T any] struct{}

// Encode implements Codec.
func (JSON[T]) Encode(v T) ([]byte, error) { return json.Marshal(v) }

// Decode implements Codec.
func (JSON[T]) Decode(b []byte) (v T, err error) { return v, json.Unmarshal(b, &v) }

func (k Kind[T]) codec() Codec[T] {
	if k.Codec == nil {
		return JSON[T]{}
	}
	return k.Codec
}

// Draft returns a job with v, to be completed and published.
func (k Kind[T]) Draft(v T) (Draft, error) {
	payload, err := k.codec().Encode(v)
	if err != nil {
		return Draft{}, invalid("publish", fmt.Errorf("%s: encode: %w", k.Name, err), "")
	}
	return Draft{Payload: payload}, nil
}

// Handle has w run up to n jobs of a kind at once with do, and the settings of the kind's queue.
// What cannot be decoded is dead at once, with the reason kept. It is an error after Run, and for a
// kind that has a function already.
func Handle[T any](w *Workers, kind Kind[T], n int, settings *Settings, do func(context.Context, T) error) error {
	return w.handle(kind.Name, n, settings, func(ctx context.Context, job Job) error {
		v, err := kind.codec().Decode(job.Payload)
		if err != nil {
			return Never(fmt.Errorf("decode a job of kind %s: %w", kind.Name, err))
		}
		return do(context.WithValue(ctx, jobInContext{}, &job), v)
	})
}

type jobInContext struct{}

// JobOf returns the job that a function given to Handle was called with, of its context.
func JobOf(ctx context.Context) (job Job, ok bool) {
	p, ok := ctx.Value(jobInContext{}).(*Job)
	if ok {
		job = *p
	}
	return job, ok
}
