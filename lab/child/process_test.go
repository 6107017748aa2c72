package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The test binary is its own child.
const role = "child"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == role {
		if err := Serve(os.Stdin, os.Stdout, answer); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func answer(request string) string {
	switch request {
	case "panic":
		panic("planted")
	case "hang":
		time.Sleep(time.Hour)
	}
	return "got " + request
}

func start(t *testing.T) *Process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start([]string{exe, role})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.End(0) })
	return p
}

func TestChildAnswersAndEndsWithItsInput(t *testing.T) {
	p := start(t)
	for _, word := range []string{"one", "two"} {
		var got string
		if err := p.Call(t.Context(), word, word, &got, time.Minute); err != nil || got != "got "+word {
			t.Fatalf("%s: %q, %v", word, got, err)
		}
	}
	if err := p.End(time.Minute); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestEndOfAChildIsToldByWhatItSaidLast(t *testing.T) {
	for request, want := range map[string]string{"panic": "panic: planted", "hang": "hung: no answer to hang"} {
		p, limit := start(t), time.Minute
		if request == "hang" {
			limit = 50 * time.Millisecond
		}
		err := p.Call(t.Context(), request, request, new(string), limit)
		var gone *Error
		if !errors.As(err, &gone) || !strings.Contains(err.Error(), want) || gone.Hung != (request == "hang") {
			t.Errorf("%s: %v", request, err)
		}
	}
}

func TestEndOfTheContextKillsTheChild(t *testing.T) {
	p := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Call(ctx, "hang", "hang", new(string), time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := p.End(0); err == nil {
		t.Error("it was not killed")
	}
}
