package pairs

import (
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

var queues = newKind("queue", "job queues in any of their forms, to be moved", "jobqueue",
	codec[queue.Item]{encodeQueue, decodeQueue}, queue.Dump, queue.Restore,
	sqlqueue.Dump, sqlqueue.Restore, sqlqueue.Create)

// What keys have behind the queue.
const (
	queueHead     = 'a'
	queueJob      = 'j'
	queueKey      = 'k'
	queueSchedule = 's'
)

// queueLine is what a value of any kind may have.
type queueLine struct {
	ID       uint64    `json:"id,omitempty"`
	At       int64     `json:"at,omitempty"`
	Priority int8      `json:"priority,omitempty"`
	Created  int64     `json:"created,omitempty"`
	Died     int64     `json:"died,omitempty"`
	Attempts int       `json:"attempts,omitempty"`
	Token    uint64    `json:"token,omitempty"`
	Extended bool      `json:"extended,omitempty"`
	Special  string    `json:"special,omitempty"`
	Failures []failure `json:"failures,omitempty"`
}

type failure struct {
	At      int64  `json:"at"`
	Attempt int    `json:"attempt"`
	Error   string `json:"error"`
}

func encodeQueue(key []byte, p *queue.Item) (k, v []byte, err error) {
	key = kv.AppendString(key, p.Queue)
	switch p.Kind {
	case queue.HeadItem:
		key = append(key, queueHead)
	case queue.JobItem:
		return encodeJob(append(key, queueJob), p)
	case queue.KeyItem:
		key = append(append(key, queueKey), p.Name...)
	case queue.ScheduleItem:
		key = append(append(key, queueSchedule), p.Name...)
	}
	v, err = line(&queueLine{ID: p.ID, At: p.At}, nil)
	return key, v, err
}

// rankShift makes a priority a byte that sorts as it does.
const rankShift = 128

func encodeJob(key []byte, p *queue.Item) (k, v []byte, err error) {
	job := &p.Job
	l := queueLine{Priority: job.Priority, Created: job.CreatedAt.UnixMilli(), Attempts: job.Attempts,
		Token: job.Receipt.Token, Extended: p.Extended, Special: string(p.Special)}
	texts := []string{l.Special}
	for _, f := range job.Failures() {
		l.Failures = append(l.Failures, failure{f.At.UnixMilli(), f.Attempt, f.Error})
		texts = append(texts, f.Error)
	}
	rank, at := byte(0), job.VisibleAt.UnixMilli()
	switch job.State {
	case queue.Ready:
		rank = byte(int(job.Priority) + rankShift)
	case queue.Dead:
		l.Died, at = at, 0
	}
	key = kv.AppendUint64(kv.AppendUint64(append(key, byte(job.State), rank), uint64(at)), job.ID)
	v, err = line(&l, job.Payload, texts...)
	return key, v, err
}

func decodeQueue(k, v []byte) (*queue.Item, error) {
	name, rest, ok := kv.CutString(k)
	var l queueLine
	payload, err := cutLine(v, &l)
	if !ok || err != nil || len(rest) == 0 {
		return nil, notAPair("queue", k, err)
	}
	p := &queue.Item{Queue: name, Name: string(rest[1:]), ID: l.ID, At: l.At}
	switch rest[0] {
	case queueHead:
		p.Kind = queue.HeadItem
	case queueKey:
		p.Kind = queue.KeyItem
	case queueSchedule:
		p.Kind = queue.ScheduleItem
	case queueJob:
		return decodeJob(p, k, rest[1:], &l, payload)
	default:
		return nil, notAPair("queue", k, nil)
	}
	return p, nil
}

func decodeJob(p *queue.Item, k, place []byte, l *queueLine, payload []byte) (*queue.Item, error) {
	id, ok := kv.LastUint64(place)
	if !ok || len(place) != 18 || place[0] > byte(queue.Dead) {
		return nil, notAPair("queue", k, nil)
	}
	at, _ := kv.LastUint64(place[:10])
	p.Kind, p.Extended = queue.JobItem, l.Extended
	p.Job = queue.Job{ID: id, State: queue.State(place[0]), Priority: l.Priority, Attempts: l.Attempts,
		CreatedAt: queue.Millis(l.Created), VisibleAt: queue.Millis(int64(at))}
	if len(payload) > 0 {
		p.Job.Payload = payload
	}
	switch p.Job.State {
	case queue.Claimed:
		p.Job.Receipt = queue.Receipt{ID: id, Until: int64(at), Token: l.Token}
	case queue.Dead:
		p.Job.VisibleAt = queue.Millis(l.Died)
	}
	if l.Special != "" {
		p.Special = []byte(l.Special)
		if err := p.Job.SetSpecial(p.Special); err != nil {
			return nil, notAPair("queue", k, err)
		}
	}
	failures := make([]queue.Failure, len(l.Failures))
	for i, f := range l.Failures {
		failures[i] = queue.Failure{At: queue.Millis(f.At), Attempt: f.Attempt, Error: f.Error}
	}
	text, err := queue.FailuresText(failures)
	if err == nil {
		err = p.Job.SetFailures(text)
	}
	if err != nil {
		return nil, notAPair("queue", k, err)
	}
	return p, nil
}
