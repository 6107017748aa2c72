package bench

import "strings"

// DidYouMean returns "did you mean KNOWN? " for the one of known that word was most likely meant to
// be, "" if none is near: more than a third of its letters, and more than one, would have to
// change. Put it in front of a hint.
func DidYouMean(word string, known []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, k := range known {
		d := distance(strings.ToLower(word), strings.ToLower(k))
		if len(word) > 2 && strings.HasPrefix(k, word) { // it was cut short
			d = 1
		}
		if d < least {
			best, least = k, d
		}
	}
	if best == "" || word == "" {
		return ""
	}
	return "did you mean " + best + "? "
}

// distance returns how many letters must be added, removed, changed or swapped with their neighbour
// to make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
