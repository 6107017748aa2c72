package encodings

import (
	"encoding/binary"
	"math"
)

// fieldNames are the stored names of a user's fields, in the order of fields.
var fieldNames = [...]string{"id", "username", "email", "first_name", "last_name", "age", "height", "weight",
	"balance", "is_active",
	"created_at", "updated_at", "login_count", "score", "description"}

// balanceField is the place of the balance among the fields.
const balanceField = 8

// fields returns pointers to the fields of u.
func (u *User) fields() [len(fieldNames)]any {
	return [...]any{&u.ID, &u.Username, &u.Email, &u.FirstName, &u.LastName, &u.Age, &u.Height, &u.Weight, &u.Balance,
		&u.Active,
		&u.CreatedAt, &u.UpdatedAt, &u.LoginCount, &u.Score, &u.Description}
}

// fieldNamed returns the place of the field called name, which is probably next, or -1.
func fieldNamed(name []byte, next int) int {
	if next < len(fieldNames) && fieldNames[next] == string(name) {
		return next
	}
	for i := range fieldNames {
		if fieldNames[i] == string(name) {
			return i
		}
	}
	return -1
}

// sizeOf returns how many bytes the field at p takes: 0 is a length of its own.
func sizeOf(p any) int {
	switch p.(type) {
	case *int64, *float64:
		return 8
	case *int32, *float32:
		return 4
	case *bool:
		return 1
	}
	return 0
}

// appendField appends the field at p, little-endian.
func appendField(dst []byte, p any) []byte {
	switch p := p.(type) {
	case *int64:
		return binary.LittleEndian.AppendUint64(dst, uint64(*p))
	case *int32:
		return binary.LittleEndian.AppendUint32(dst, uint32(*p))
	case *float64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(*p))
	case *float32:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(*p))
	case *bool:
		if *p {
			return append(dst, 1)
		}
		return append(dst, 0)
	}
	return append(dst, *p.(*string)...)
}

// storeField sets the field at p to what appendField wrote.
func storeField(p any, data []byte) error {
	if size := sizeOf(p); size > 0 && len(data) != size {
		return corrupt("%d bytes of a field of %d", len(data), size)
	}
	switch p := p.(type) {
	case *int64:
		*p = int64(binary.LittleEndian.Uint64(data))
	case *int32:
		*p = int32(binary.LittleEndian.Uint32(data))
	case *float64:
		*p = math.Float64frombits(binary.LittleEndian.Uint64(data))
	case *float32:
		*p = math.Float32frombits(binary.LittleEndian.Uint32(data))
	case *bool:
		*p = data[0] == 1
	case *string:
		*p = string(data)
	}
	return nil
}
