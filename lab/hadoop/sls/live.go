package sls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/lab/proc"
)

// Live is a running SLS: a ResourceManager with many simulated nodes that answers REST.
type Live struct {
	URL string // http://127.0.0.1:PORT
	Dir string
}

// Up starts SLS and leaves it running until Down, from this process or another. The jobs of the trace run from then on; none
// are needed. Applications that come over REST get a container for their master and nothing is run in it. Unless Site says
// otherwise the queues can be changed over REST (their configuration is kept in memory).
func Up(ctx context.Context, o Options) (*Live, error) {
	if err := o.withDefaults(false); err != nil {
		return nil, err
	}
	site := map[string]string{"yarn.scheduler.configuration.store.class": "memory"}
	maps.Copy(site, o.Site)
	o.Site = site
	p, err := start(ctx, &o, 0)
	if err != nil {
		return nil, err
	}
	port := ""
	proc.Await(ctx, 3*time.Minute, 200*time.Millisecond, func() bool {
		port, err = webPort(logFile(o.Dir))
		select {
		case <-p.Done():
			err = fmt.Errorf("the JVM ended: %w", cmp.Or(p.Err(), errors.New("without an error")))
		default:
		}
		return port != "" || err != nil
	})
	if port == "" || err != nil {
		err = cmp.Or(err, ctx.Err(), errors.New("not up after three minutes"))
		return nil, errors.Join(fmt.Errorf("sls: %w; its last words:\n%s", err, lastWords(o.Dir)), Down(o.Dir))
	}
	return &Live{URL: "http://127.0.0.1:" + port, Dir: o.Dir}, nil
}

// Down ends what runs in a folder.
func Down(dir string) error {
	_, err := proc.Down(dir, 0)
	return err
}

// webPort finds where the RM answers REST; it is written when everything is up, and empty before.
func webPort(log string) (string, error) {
	b, err := os.ReadFile(log)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if f := webPorts.FindSubmatch(b); f != nil {
		return string(f[1]), err
	}
	return "", err
}

var webPorts = regexp.MustCompile(`(?m) y web (\d+)$`)

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
