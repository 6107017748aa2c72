// Package watermill keeps the messages of a Watermill router in an event log: in the program's own
// store, without a broker.
//
//	log, err := eventlog.Open(ctx, db, nil)
//	publisher := watermill.NewPublisher(log, kv.Synced)
//	subscriber := watermill.NewSubscriber(log, kv.Synced, "mailer")
//	router.AddConsumerHandler("mail", "orders", subscriber, sendMail)
//
// A topic is a stream, a message an event: its UUID is the event's id, so that a message that is
// published again, because the answer was lost, is one message. Subscribers of one group share the
// messages of a topic, here and in other processes, in their order; those of different groups get
// all of them.
package watermill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// uuid is what a message's UUID is kept under, beside its metadata.
const uuid = "_watermill_message_uuid"

// Publisher publishes messages to the log.
type Publisher struct {
	log   *eventlog.Log
	class kv.Durability
}

var _ message.Publisher = (*Publisher)(nil)

// NewPublisher returns a publisher whose messages are committed with a class of durability.
func NewPublisher(log *eventlog.Log, class kv.Durability) *Publisher { return &Publisher{log, class} }

// Publish appends the messages of one call together, or none of them.
func (p *Publisher) Publish(topic string, messages ...*message.Message) error {
	drafts, err := Drafts(topic, messages...)
	if err != nil {
		return err
	}
	_, err = p.log.Append(context.Background(), p.class, topic, eventlog.Any, drafts...)
	return err
}

// Drafts returns messages as events, for a program that publishes in a transaction of its own: see
// eventlog.Log.In.
func Drafts(topic string, messages ...*message.Message) ([]eventlog.Draft, error) {
	if topic == "" {
		return nil, errors.New("publish: no topic")
	}
	drafts := make([]eventlog.Draft, len(messages))
	for i, m := range messages {
		meta := map[string]string{uuid: m.UUID}
		for key, value := range m.Metadata {
			meta[key] = value
		}
		drafts[i] = eventlog.Draft{Type: "Message", Data: m.Payload, Meta: meta}
		if m.UUID != "" {
			drafts[i].ID = topic + "/" + m.UUID
		}
	}
	return drafts, nil
}

// Close does nothing: the log is the program's.
func (p *Publisher) Close() error { return nil }

// Subscriber delivers messages from the log.
type Subscriber struct {
	log   *eventlog.Log
	class kv.Durability
	group string

	closed context.Context
	close  context.CancelFunc
	mu     sync.Mutex // held while one is added to running
	all    sync.WaitGroup
}

var _ message.Subscriber = (*Subscriber)(nil)

// NewSubscriber returns a subscriber of a group, whose acknowledgements are committed with a class
// of durability. Without a group each Subscribe gets all messages, from the first one on, and
// forgets them when it ends.
func NewSubscriber(log *eventlog.Log, class kv.Durability, group string) *Subscriber {
	s := &Subscriber{log: log, class: class, group: group}
	s.closed, s.close = context.WithCancel(context.Background())
	return s
}

// Subscribe delivers the messages of a topic, one after the other, each until it is acknowledged.
// The channel is closed when ctx ends or the subscriber is closed.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if topic == "" {
		return nil, errors.New("subscribe: no topic")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Err() != nil {
		return nil, errors.New("subscribe: the subscriber is closed")
	}
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(s.closed, cancel)
	out := make(chan *message.Message)
	s.all.Go(func() {
		defer cancel()
		defer close(out)
		s.follow(ctx, topic, out)
	})
	return out, nil
}

// follow delivers until ctx ends.
func (s *Subscriber) follow(ctx context.Context, topic string, out chan<- *message.Message) {
	name := s.group + "/" + topic
	o := &eventlog.FollowOptions{
		Filter:     eventlog.Filter{Streams: []string{topic}},
		Durability: s.class,
		Attempts:   -1, // a router parks messages itself: see its middleware Retry and PoisonQueue
		Backoff:    func(n int) time.Duration { return min(time.Duration(n)*time.Millisecond, time.Second) },
		Partitions: 1, // one at a time gets the messages of a topic, so they stay in order
		Lease:      5 * time.Second,
	}
	if s.group == "" {
		name, o.Partitions = "once-"+watermill.NewUUID(), 0
		defer func() {
			_ = s.log.Unsubscribe(context.WithoutCancel(ctx),
				name)
		}() // it is not there if none was delivered
	}
	for ctx.Err() == nil {
		err := s.log.Follow(ctx, name, func(ctx context.Context,
			e eventlog.Event) error {
			return deliver(ctx, e, out)
		}, o)
		if errors.Is(err, kv.Closed) {
			return
		}
		select { // the store failed: it may be full, or locked by another
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// deliver gives a message out and waits for its acknowledgement.
func deliver(ctx context.Context, e eventlog.Event, out chan<- *message.Message) error {
	m := message.NewMessage(e.Meta[uuid], e.Data)
	for key, value := range e.Meta {
		if key != uuid {
			m.Metadata.Set(key, value)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m.SetContext(ctx)
	select {
	case out <- m:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-m.Acked():
		return nil
	case <-m.Nacked():
		return fmt.Errorf("message %s was refused", m.UUID)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends all subscriptions and waits for them.
func (s *Subscriber) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
	s.all.Wait()
	return nil
}
