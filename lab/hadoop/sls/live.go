package sls

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/lab/proc"
)

// Live is a running SLS: a ResourceManager with many simulated nodes that answers REST.
type Live struct {
	URL string // http://127.0.0.1:PORT
	Dir string
}

// errNotYet says that the log does not hold what is looked for.
var errNotYet = errors.New("not yet")

// Up starts SLS and leaves it running until Down, from this process or another. The jobs of the trace run from then on; none
// are needed. Applications that come over REST get a container for their master and nothing is run in it. Unless Site says
// otherwise the queues can be changed over REST (their configuration is kept in memory).
func Up(ctx context.Context, o Options) (*Live, error) {
	if err := o.withDefaults(false); err != nil {
		return nil, err
	}
	const store = "yarn.scheduler.configuration.store.class"
	site := map[string]string{store: "memory"}
	for k, v := range o.Site {
		site[k] = v
	}
	o.Site = site
	p, err := start(ctx, &o, 0)
	if err != nil {
		return nil, err
	}
	limit := time.NewTimer(3 * time.Minute)
	defer limit.Stop()
	every := time.NewTicker(200 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			port, err := webPort(logFile(o.Dir))
			if errors.Is(err, errNotYet) {
				continue
			}
			if err != nil {
				return nil, errors.Join(err, Down(o.Dir))
			}
			return &Live{URL: "http://127.0.0.1:" + port, Dir: o.Dir}, nil
		case <-p.Done():
			return nil, errors.Join(fmt.Errorf("sls: the JVM ended: %v; its last words:\n%s", p.Err(), lastWords(o.Dir)), Down(o.Dir))
		case <-limit.C:
			return nil, errors.Join(fmt.Errorf("sls: not up after three minutes; its last words:\n%s", lastWords(o.Dir)), Down(o.Dir))
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), Down(o.Dir))
		}
	}
}

// Down ends what runs in a folder.
func Down(dir string) error {
	_, err := proc.Down(dir, 0)
	return err
}

// webPort finds where the RM answers REST; it is written when everything is up.
func webPort(log string) (string, error) {
	b, err := os.ReadFile(log)
	if errors.Is(err, os.ErrNotExist) {
		return "", errNotYet
	}
	if err != nil {
		return "", err
	}
	in := bufio.NewScanner(bytes.NewReader(b))
	in.Buffer(nil, maxLine)
	for in.Scan() {
		if _, port, ok := strings.Cut(in.Text(), " y web "); ok {
			return port, nil
		}
	}
	return "", errNotYet
}
