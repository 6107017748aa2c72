package encodings

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// Users is a way of keeping users. Its methods may be called concurrently.
type Users interface {
	// Put stores all of list in one transaction. Later ones replace earlier ones of the same id.
	Put(ctx context.Context, d kv.Durability, list []User) error

	// Read sets into to the user with an id. An absent one is NotFound.
	Read(ctx context.Context, id int64, into *User) error

	// Walk calls fn with at most limit users from an id on, in their order, as of one moment.
	Walk(ctx context.Context, from int64, limit int, fn func(*User) error) error

	// Sum adds up the balances of all users, in the order of their ids, and counts them.
	Sum(ctx context.Context) (total float64, n int, err error)

	// SetBalance sets the balance of the user with an id. An absent one is NotFound.
	SetBalance(ctx context.Context, d kv.Durability, id int64, balance float64) error
}

// Form is one of the ways over kv.
type Form struct {
	Name, Summary string
	over          func(ctx context.Context, db *kv.DB) (Users, error)
}

// Binary is the form of stores/record.
const Binary = "binary"

// Forms are the ways over kv, in the order in which they are shown.
var Forms = []Form{
	{Binary, "a pair for each record: fields in binary, without names", overRecords},
	{"names", "the same, each field behind its name", whole(func() codec { return namesCodec{} })},
	{"json", "a pair for each record: a JSON object", whole(newJSON)},
	{"gob", "a pair for each record: gob, each with the type's definition", whole(func() codec { return gobCodec{} })},
	{"gob-shared", "the same, the type's definition kept once", whole(newSharedGob)},
	{"msgpack", "a pair for each record: a MessagePack map with names",
		whole(func() codec { return messagePackCodec{} })},
	{"cbor", "a pair for each record: a CBOR map with names", whole(newCBOR)},
	{"protobuf", "a pair for each record: a protobuf message", whole(func() codec { return protobufCodec{} })},
	{"multikv", "a pair for each field, its name in the key",
		byField(func(i int) []byte { return []byte(fieldNames[i]) })},
	{"multikv-numbers", "a pair for each field, its number in the key",
		byField(func(i int) []byte { return []byte{byte(i + 1)} })},
}

// Over opens the users kept in db in the form called name. Another name is Invalid.
func Over(ctx context.Context, db *kv.DB, name string) (Users, error) {
	i := slices.IndexFunc(Forms, func(f Form) bool { return f.Name == name })
	if i < 0 {
		return nil, &kv.Error{Op: "open users", Kind: kv.Invalid, Err: fmt.Errorf("form %q", name),
			Hint: "use one of Forms"}
	}
	return Forms[i].over(ctx, db)
}

// users keeps them as stores/record does by default.
type users struct {
	*record.Collection[User]
	balance record.Field[User, float64]
}

func overRecords(ctx context.Context, db *kv.DB) (Users, error) {
	c, err := record.Open[User](ctx, db, nil)
	if err != nil {
		return nil, err
	}
	balance, err := record.FieldOf[float64](c, "balance")
	return &users{c, balance}, err
}

func (u *users) Put(ctx context.Context, d kv.Durability, list []User) error {
	if len(list) == 1 {
		return u.Collection.Put(ctx, d, &list[0])
	}
	return u.PutAll(ctx, d, list)
}

func (u *users) Read(ctx context.Context, id int64, into *User) error {
	return u.Collection.Read(ctx, record.Int(id), into)
}

func (u *users) Walk(ctx context.Context, from int64, limit int, fn func(*User) error) error {
	for v, err := range u.All(ctx, record.Span{From: record.Int(from), Limit: limit}) {
		if err != nil {
			return err
		}
		if err := fn(&v); err != nil {
			return err
		}
	}
	return nil
}

func (u *users) Sum(ctx context.Context) (total float64, n int, err error) {
	t, err := record.Sum(ctx, u.balance, record.Span{})
	return t.Float, t.Count, err
}

func (u *users) SetBalance(ctx context.Context, d kv.Durability, id int64, balance float64) error {
	return u.balance.Set(ctx, d, record.Int(id), balance)
}

// key is the key of the user with an id, in all forms, as stores/record has it.
func key(dst []byte, id int64) []byte { return kv.AppendUint64(append(dst, 'r'), uint64(id)^1<<63) }

// keyLength is how long the key of a user is, without a field.
const keyLength = 9

func corrupt(format string, args ...any) error {
	return &kv.Error{Op: "read user", Kind: kv.Corrupt, Err: fmt.Errorf(format, args...)}
}

// errNoBalance is the error of a user without the field to be added up.
var errNoBalance = errors.New("no balance")
