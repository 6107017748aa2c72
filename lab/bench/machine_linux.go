package bench

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// loadAverage returns the load average of the last minute (proc(5), loadavg).
func loadAverage() *float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil
	}
	first, _, _ := strings.Cut(string(data), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return nil
	}
	return &load
}

// processorTime returns what the processors did since the system started (proc(5), stat).
func processorTime() (p processors) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return p
	}
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(line)
	const user, idle, iowait, steal = 1, 4, 5, 8
	if len(fields) <= steal || fields[0] != "cpu" {
		return p
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every system that Go runs on
	for i := user; i <= steal; i++ {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return processors{}
		}
		spent := time.Duration(n) * tick
		p.all += spent
		switch i {
		case idle, iowait:
		case steal:
			p.steal = spent
		default:
			p.busy += spent
		}
	}
	p.known = true
	return p
}
