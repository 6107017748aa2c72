package sqltable

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/assaydb/assay/kv"
)

// appendKey appends the columns of a key, which are of the kinds of t, as bytes.
func (t *table) appendKey(key []byte, values []any) ([]byte, error) {
	for i, v := range values {
		part, kind := bytesOf(v)
		switch {
		case kind != t.kinds[i]:
			return nil, invalid("name a column whose values are all of one kind: integers, text or blobs",
				"table %s: a key's %s is %s, others are %s", t.Name, t.keys[i], kind, t.kinds[i])
		case kind == Int:
			key = binary.BigEndian.AppendUint64(key, uint64(v.(int64))^1<<63)
		case i == len(values)-1:
			key = append(key, part...)
		default:
			key = kv.AppendString(key, string(part))
		}
	}
	if len(key) == 0 {
		return nil, invalid("give the table a prefix", "table %s: a key is empty", t.Name)
	}
	return key, nil
}

// bytesOf returns what v holds as bytes, if it is text or a blob, and what it is.
func bytesOf(v any) ([]byte, Type) {
	switch v := v.(type) {
	case int64:
		return nil, Int
	case string:
		return []byte(v), Text
	case []byte:
		return v, Blob
	case float64:
		return nil, Real
	}
	return nil, "NULL"
}

// keyValues returns the columns of a key without its prefix; ok is false if no row can have it.
func (t *table) keyValues(key []byte) (values []any, ok bool) {
	for i, kind := range t.kinds {
		part := key
		switch {
		case kind == Int:
			if len(key) < 8 {
				return nil, false
			}
			values = append(values, int64(binary.BigEndian.Uint64(key)^1<<63))
			key = key[8:]
			continue
		case i == len(t.kinds)-1:
			key = nil
		default:
			s, rest, ok := kv.CutString(key)
			if !ok {
				return nil, false
			}
			part, key = []byte(s), rest
		}
		if kind == Text {
			values = append(values, string(part))
		} else {
			values = append(values, bytes.Clone(part))
		}
	}
	return values, len(key) == 0
}

// appendValue appends the columns of a value as bytes.
func (t *table) appendValue(dst []byte, values []any) ([]byte, error) {
	if t.raw {
		part, kind := bytesOf(values[0])
		if kind != Text && kind != Blob {
			return nil, invalid("leave the value out, or name two columns: such a value is a JSON object and keeps it",
				"table %s: column %s holds %s in a row", t.Name, t.values[0], kind)
		}
		return append(dst, part...), nil
	}
	dst = append(dst, '{')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, t.values[i]), ':')
		switch v := v.(type) {
		case nil:
			dst = append(dst, "null"...)
		case int64:
			dst = strconv.AppendInt(dst, v, 10)
		case float64:
			dst = appendReal(dst, v)
		case string:
			dst = appendText(dst, v)
		case []byte:
			dst = appendBase64(dst, "blob", v)
		default:
			return nil, fmt.Errorf("column %s: a value of type %T", t.values[i], v)
		}
	}
	return append(dst, '}'), nil
}

func appendReal(dst []byte, v float64) []byte {
	if math.IsInf(v, 0) {
		return fmt.Appendf(dst, `{"real":"%+g"}`, v)
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return append(dst, text...)
}

func appendText(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		return appendBase64(dst, "text", []byte(s))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

func appendBase64(dst []byte, kind string, v []byte) []byte {
	return fmt.Appendf(dst, `{"%s":"%s"}`, kind, base64.StdEncoding.EncodeToString(v))
}

// columnValues returns the columns of a value that appendValue wrote. Any other is Invalid.
func (t *table) columnValues(value []byte) ([]any, error) {
	if t.raw {
		if t.rawText {
			return []any{string(value)}, nil
		}
		return []any{append([]byte{}, value...)}, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(value, &object); err != nil {
		return nil, invalid("see the package's page on values", "table %s: %w", t.Name, err)
	}
	values := make([]any, len(t.values))
	for i, name := range t.values {
		v, err := parseValue(object[name])
		if err != nil {
			return nil, invalid("see the package's page on values", "table %s, column %s: %w", t.Name, name, err)
		}
		values[i] = v
	}
	again, err := t.appendValue(nil, values)
	if err == nil && !bytes.Equal(again, value) {
		err = invalid("write the columns in this order: "+strings.Join(t.values, ", "),
			"table %s: a value that would come back as another one, %.80s", t.Name, again)
	}
	return values, err
}

// parseValue reads one column of an object.
func parseValue(text json.RawMessage) (any, error) {
	switch {
	case len(text) == 0 || string(text) == "null":
		return nil, nil
	case text[0] == '"':
		var s string
		err := json.Unmarshal(text, &s)
		return s, err
	case text[0] == '{':
		var typed struct {
			Blob, Text *[]byte
			Real       string
		}
		err := json.Unmarshal(text, &typed)
		switch {
		case err != nil:
			return nil, err
		case typed.Blob != nil:
			return *typed.Blob, nil
		case typed.Text != nil:
			return string(*typed.Text), nil
		}
		return strconv.ParseFloat(typed.Real, 64)
	case bytes.ContainsAny(text, ".eE"):
		return strconv.ParseFloat(string(text), 64)
	}
	return strconv.ParseInt(string(text), 10, 64)
}
