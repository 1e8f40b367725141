package sls

import (
	"os"
	"strconv"
	"strings"
)

// loads samples how busy the computer is.
type loads struct {
	sum, max float64
	n        int
}

// sample takes the number of runnable threads of the whole computer (fourth field of /proc/loadavg), this one apart: the
// averages of the kernel look a minute back, too far for a run of two.
func (l *loads) sample() {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return
	}
	f := strings.Fields(string(b))
	if len(f) < 4 {
		return
	}
	running, _, _ := strings.Cut(f[3], "/")
	n, err := strconv.Atoi(running)
	if err != nil {
		return
	}
	v := float64(max(n-1, 0))
	l.sum, l.max, l.n = l.sum+v, max(l.max, v), l.n+1
}

func (l *loads) mean() float64 {
	if l.n == 0 {
		return 0
	}
	return l.sum / float64(l.n)
}
