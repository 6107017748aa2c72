//go:build cgo

package sqlite

import (
	"slices"
	"strings"
)

// checksOf returns the expressions of the CHECK constraints in the text of a CREATE TABLE, sorted.
// Their words are a space apart and comments are left out: what is only laid out otherwise is the
// same.
func checksOf(create string) (all []string) {
	var within []string
	depth, last := 0, ""
	checking := false
	for word, text := nextWord(create); word != ""; word, text = nextWord(text) {
		if word == ")" {
			if depth--; checking && depth == 1 {
				all, checking = append(all, strings.Join(within, " ")), false
			}
		}
		if checking {
			within = append(within, word)
		}
		if word == "(" {
			if depth++; depth == 2 && strings.EqualFold(last, "CHECK") {
				checking, within = true, nil
			}
		}
		last = word
	}
	slices.Sort(all)
	return all
}

// nextWord returns the first word of a text, a quoted one as a whole, and the text behind it; "" at
// its end.
func nextWord(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t\r\n\f")
	for strings.HasPrefix(text, "--") || strings.HasPrefix(text, "/*") {
		if text[0] == '-' {
			_, text, _ = strings.Cut(text, "\n")
		} else {
			_, text, _ = strings.Cut(text[2:], "*/")
		}
		text = strings.TrimLeft(text, " \t\r\n\f")
	}
	if text == "" {
		return "", ""
	}
	end := 1
	switch first := text[0]; first {
	case '\'', '"', '`':
		for ; end < len(text); end++ {
			if text[end] != first {
				continue
			}
			if end+1 == len(text) || text[end+1] != first {
				break
			}
			end++ // two of them stand for one
		}
		end = min(end+1, len(text))
	case '[':
		if i := strings.IndexByte(text, ']'); i >= 0 {
			end = i + 1
		}
	default:
		for _, same := range []func(byte) bool{isWord, isOperator} {
			for same(first) && end < len(text) && same(text[end]) {
				end++
			}
		}
	}
	return text[:end], text[end:]
}

func isWord(c byte) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
	return letter || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '.'
}

func isOperator(c byte) bool { return strings.IndexByte("<>=!|&", c) >= 0 }
