package encodings

import (
	"reflect"
	"testing"
)

func TestAUserIsThatOfTheComparison(t *testing.T) {
	seen := map[uint64]bool{}
	for id := int64(1); id <= 2000; id++ {
		u := NewUser(7, id)
		if u != NewUser(7, id) {
			t.Fatal("the same seed gives another user")
		}
		if other := NewUser(8, id); u.Balance == other.Balance {
			t.Fatal("another seed gives the same balance")
		}
		if u.Age < 18 || u.Age > 77 || u.Height < 150 || u.Height > 199 || u.Weight < 50 || u.Weight > 149 ||
			u.Balance < 0 || u.Balance >= 10_000 ||
			u.LoginCount < 0 || u.LoginCount > 999 || u.Score < 0 || u.Score >= 100 || u.CreatedAt > u.UpdatedAt ||
			len(u.Description) != 91 {
			t.Fatalf("%+v, description of %d bytes", u, len(u.Description))
		}
		seen[u.Sum()] = true
	}
	if len(seen) != 2000 {
		t.Errorf("2,000 users have %d hashes", len(seen))
	}
}

// The hash notices a change of every field but the balance, which is compared by itself.
func TestTheHashOfAUserCoversItsFields(t *testing.T) {
	base := NewUser(1, 1)
	for i := range reflect.TypeFor[User]().NumField() {
		u := base
		switch f := reflect.ValueOf(&u).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString(f.String() + " ")
		case reflect.Bool:
			f.SetBool(!f.Bool())
		case reflect.Float32, reflect.Float64:
			f.SetFloat(f.Float() + 1)
		default:
			f.SetInt(f.Int() + 1)
		}
		if name := reflect.TypeFor[User]().Field(i).Name; (u.Sum() == base.Sum()) != (name == "Balance") {
			t.Errorf("a change of %s: same hash %v", name, u.Sum() == base.Sum())
		}
	}
}
