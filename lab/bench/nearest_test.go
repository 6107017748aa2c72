package bench

import "testing"

func TestDidYouMeanNamesTheNearestIfOneIsNear(t *testing.T) {
	known := []string{"hook", "events", "feed", "queue", "records", "ycsb", "sqlite", "sqlite-delete"}
	for word, want := range map[string]string{
		"hok": "hook", "Hook": "hook", "evnets": "events", "queues": "queue", "sqlit": "sqlite",
		"sqlite-d": "sqlite-delete",
		"ycbs":     "ycsb", "rec": "records", "": "", "x": "", "nosuch": "", "postgres": "",
	} {
		if want != "" {
			want = "did you mean " + want + "? "
		}
		if got := DidYouMean(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
