package eventlog

// scanJSON returns the index after the JSON value that begins at b[i], or -1 if there is none. It is as strict as
// encoding/json, except that it does not look into the encoding of strings and gives up on deep nesting.
func scanJSON(b []byte, i, depth int) int {
	if i >= len(b) || depth > 500 {
		return -1
	}
	switch b[i] {
	case '{':
		return scanObject(b, i+1, depth)
	case '[':
		return scanArray(b, i+1, depth)
	case '"':
		return scanString(b, i+1)
	case 't':
		return scanWord(b, i, "true")
	case 'f':
		return scanWord(b, i, "false")
	case 'n':
		return scanWord(b, i, "null")
	}
	if c := b[i]; c >= '1' && c <= '9' { // mostly there is nothing but digits
		for i++; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		}
		return scanFraction(b, i)
	}
	return scanNumber(b, i)
}

func scanObject(b []byte, i, depth int) int {
	i = skipSpace(b, i)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for i < len(b) && b[i] == '"' {
		for i++; i < len(b) && !special[b[i]]; i++ {
		}
		if i = scanString(b, i); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
			return -1
		}
		if i = scanJSON(b, skipSpace(b, i+1), depth+1); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i < len(b) && b[i] == '}' {
			return i + 1
		}
		if i >= len(b) || b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
	return -1
}

func scanArray(b []byte, i, depth int) int {
	i = skipSpace(b, i)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = scanJSON(b, i, depth+1); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i < len(b) && b[i] == ']' {
			return i + 1
		}
		if i >= len(b) || b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

// scanString returns the index after the quote that ends the string whose text begins at b[i].
func scanString(b []byte, i int) int {
	for ; i < len(b); i++ {
		if !special[b[i]] {
			continue
		}
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			if i = scanEscape(b, i+1); i < 0 {
				return -1
			}
		default:
			return -1
		}
	}
	return -1
}

// special are the bytes that do not stand for themselves in a string.
var special = func() (s [256]bool) {
	for c := range ' ' {
		s[c] = true
	}
	s['"'], s['\\'] = true, true
	return s
}()

// scanEscape returns the index of the last byte of the escape whose letter is b[i].
func scanEscape(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i
	case 'u':
		for n := range 4 {
			if i+1+n >= len(b) || !isHex(b[i+1+n]) {
				return -1
			}
		}
		return i + 4
	}
	return -1
}

func scanNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = scanDigits(b, i); i < 0 {
		return -1
	}
	return scanFraction(b, i)
}

// scanFraction returns the index after what may follow the digits of a number that end at b[i].
func scanFraction(b []byte, i int) int {
	if i >= len(b) || b[i] != '.' && b[i]|0x20 != 'e' {
		return i
	}
	if b[i] == '.' {
		if i = scanDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return scanDigits(b, i)
	}
	return i
}

// scanDigits returns the index after the digits at b[i], of which there is at least one.
func scanDigits(b []byte, i int) int {
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func scanWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
