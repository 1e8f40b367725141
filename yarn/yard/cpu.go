package yard

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Sources lists the sources for idle processors, each with its caveats.
func Sources() []string {
	return []string{
		"host: counters of this machine, which must be the one that runs the nodes; waiting for a disk is not idle",
		"host:nice-idle: the same; time at low priority counts as idle, so that background work of others does not disturb",
		"rm: what the nodes report to the ResourceManager (since 3.3.1); waiting for a disk appears as idle; nodes on one machine each count all of it",
		"rm:cores=N: the same for nodes of N cores each, since 2.8",
		"prometheus=URL?QUERY: one number from 0 to 1; Prometheus fills gaps with samples up to five minutes old, so ask for a rate over a short time",
		"allocation: vcores that no task holds, as far as the queue has headroom; held is not used: a last resort",
		"none: not read; policies that go by it will not act",
	}
}

// source reads the share of idle processor time. An error means that it is unknown at present.
type source interface {
	describe() string
	idle(ctx context.Context, seen *steer.Snapshot, m *rest.Metrics) (share float64, age time.Duration, err error)
}

func newSource(text string, y *Yard) (source, error) {
	name, arg, _ := strings.Cut(text, "=")
	switch name {
	case "", "allocation":
		return allocation{}, nil
	case "none":
		return noSource{}, nil
	case "host", "host:nice-idle":
		h := &hostCounters{nice: name != "host", read: procStat, minInterval: time.Second}
		var err error
		if h.last, err = h.read(); err != nil {
			return nil, fmt.Errorf("idle processors: %w: choose another source", err)
		}
		return h, nil
	case "rm":
		return &reported{c: y.c}, nil
	case "rm:cores":
		n, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(n > 0 && n <= 100_000) {
			return nil, fmt.Errorf("idle processors: rm:cores=%s: want the number of cores of a node", arg)
		}
		return &reported{y.c, n}, nil
	case "prometheus":
		return newPrometheus(strings.TrimPrefix(text, "prometheus="))
	}
	var names []string
	for _, s := range Sources() {
		n, _, _ := strings.Cut(s, ": ")
		names = append(names, n)
	}
	return nil, fmt.Errorf("idle processors: there is no source %q: choose one of %s", text, strings.Join(names, ", "))
}

type noSource struct{}

func (noSource) describe() string { return "not read" }
func (noSource) idle(context.Context, *steer.Snapshot, *rest.Metrics) (float64, time.Duration, error) {
	return -1, 0, nil
}

// allocation counts a vcore that no task holds as idle. AMs hold theirs and hardly use them.
type allocation struct{}

func (allocation) describe() string {
	return "vcores that no task holds; held is not used, and a scheduler that counts memory only may hand out more vcores than there are"
}

func (allocation) idle(_ context.Context, seen *steer.Snapshot, _ *rest.Metrics) (float64, time.Duration, error) {
	if seen.Total.Cores <= 0 {
		return 0, 0, errors.New("the ResourceManager counts no vcores")
	}
	tasks := seen.Used.Cores
	for i := range seen.Queues {
		tasks -= seen.Queues[i].AMs.Cores
	}
	return max(0, 1-float64(max(0, tasks))/float64(seen.Total.Cores)), 0, nil // unmanaged AMs count in their queues and hold nothing
}

// hostCounters are this machine's, over the last second or two.
type hostCounters struct {
	nice        bool
	read        func() (counters, error)
	minInterval time.Duration // min measuring interval
	last        counters
}

// counters are processor time since boot, in ticks.
type counters struct {
	at                time.Time
	total, idle, nice uint64
}

func procStat() (counters, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return counters{}, err
	}
	return parseStat(data)
}

// parseStat parses the line of all processors: user nice system idle iowait irq softirq steal; guest time is already in the first two.
func parseStat(data []byte) (counters, error) {
	s := bufio.NewScanner(bytes.NewReader(data))
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) < 5 || f[0] != "cpu" {
			continue
		}
		c := counters{at: time.Now()}
		for i, t := range f[1:min(len(f), 9)] {
			n, err := strconv.ParseUint(t, 10, 64)
			if err != nil {
				return c, fmt.Errorf("/proc/stat: %q is no count", t)
			}
			c.total += n
			switch i {
			case 1:
				c.nice = n
			case 3:
				c.idle = n
			}
		}
		return c, nil
	}
	return counters{}, errors.New("/proc/stat has no line of all processors")
}

func (h *hostCounters) describe() string {
	if h.nice {
		return "counters of this machine, low priority counts as idle; the nodes must run on it"
	}
	return "counters of this machine; the nodes must run on it"
}

func (h *hostCounters) idle(ctx context.Context, _ *steer.Snapshot, _ *rest.Metrics) (float64, time.Duration, error) {
	if time.Since(h.last.at) > 3*h.minInterval { // the last reading is too old
		var err error
		if h.last, err = h.read(); err != nil {
			return 0, 0, err
		}
	}
	if short := h.minInterval - time.Since(h.last.at); short > 0 {
		select {
		case <-time.After(short):
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		}
	}
	now, err := h.read()
	if err != nil {
		return 0, 0, err
	}
	old := h.last
	h.last = now
	share, err := idleBetween(old, now, h.nice)
	return share, 0, err
}

// idleBetween is the share of time that no processor was busy.
func idleBetween(old, now counters, nice bool) (float64, error) {
	if now.total <= old.total || now.idle < old.idle || now.nice < old.nice { // a processor was removed
		return 0, errors.New("the machine's counters went backwards")
	}
	idle := now.idle - old.idle
	if nice {
		idle += now.nice - old.nice
	}
	return float64(idle) / float64(now.total-old.total), nil
}

// reported is what nodes report to the ResourceManager about their machines.
type reported struct {
	c     *rest.Client
	cores float64 // of a node; 0: use the ResourceManager's own percentage
}

func (r *reported) describe() string {
	const caveat = "; waiting for a disk appears as idle, and nodes on one machine each count all of it"
	if r.cores > 0 {
		return fmt.Sprintf("cores in use as the nodes report them, of %v each%s", r.cores, caveat)
	}
	return "the ResourceManager's percentage of what the nodes report" + caveat
}

func (r *reported) idle(ctx context.Context, _ *steer.Snapshot, m *rest.Metrics) (float64, time.Duration, error) {
	if r.cores == 0 {
		switch {
		case m.UtilizedCoresPercent == -1:
			return 0, 0, errors.New("this ResourceManager does not report it (3.3.1 and later do): give the cores of a node with rm:cores=N")
		case m.UtilizedCoresPercent == 0 && m.UtilizedMBPercent == 0: // every machine uses some memory
			return 0, 0, errors.New("the nodes do not report what they use: is yarn.nodemanager.resource-monitor.enabled off?")
		}
		return tidy(1 - m.UtilizedCoresPercent/100), 0, nil
	}
	var used float64
	nodes, silent := 0, 0
	for n, err := range r.c.Nodes(ctx) {
		if err != nil {
			return 0, 0, err
		}
		if n.State != "RUNNING" && n.State != "DECOMMISSIONING" {
			continue
		}
		nodes++
		if n.Utilization.PhysicalMB == 0 {
			silent++
		}
		used += n.Utilization.Cores
	}
	switch {
	case nodes == 0:
		return 0, 0, errors.New("no node is listed")
	case silent > 0:
		return 0, 0, fmt.Errorf("%d of %d nodes do not report what they use", silent, nodes)
	}
	if most := r.cores * float64(nodes); used > most*(1+slack) {
		return 0, 0, fmt.Errorf("%d nodes report %.4g cores in use: they have more than %v each, say so with rm:cores=N", nodes, used, r.cores)
	}
	return tidy(1 - used/(r.cores*float64(nodes))), 0, nil
}

// slack is how far measurements may lie outside 0 to 1: rates are computed from samples that do not fall on the interval's ends.
const slack = 0.05

// tidy clamps a measured share to 0 to 1. What lies further outside is not a measurement, and is passed on unchanged.
func tidy(x float64) float64 {
	if x < -slack || x > 1+slack {
		return x
	}
	return min(max(x, 0), 1)
}

// prometheus queries one number.
type prometheus struct {
	http  *http.Client
	base  *url.URL
	query string
	now   func() time.Time
}

const maxSampleAge = 30 * time.Second

func newPrometheus(text string) (source, error) {
	base, query, ok := strings.Cut(text, "?")
	if encoded, is := strings.CutPrefix(query, "query="); is {
		var err error
		if query, err = url.QueryUnescape(encoded); err != nil {
			return nil, fmt.Errorf("idle processors: the query %q: %w", encoded, err)
		}
	}
	u, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil || !ok || query == "" || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New(`idle processors: write prometheus=URL?QUERY, as in prometheus=http://host:9090?avg(rate(node_cpu_seconds_total{mode="idle"}[30s]))`)
	}
	return &prometheus{&http.Client{Timeout: 5 * time.Second}, u, query, time.Now}, nil
}

func (p *prometheus) describe() string {
	return fmt.Sprintf("%s of Prometheus at %s; it fills gaps with samples up to five minutes old, and what counts as idle is up to the query", p.query, p.base.Host)
}

func (p *prometheus) idle(ctx context.Context, _ *steer.Snapshot, _ *rest.Metrics) (float64, time.Duration, error) {
	u := *p.base
	u.Path += "/api/v1/query"
	u.RawQuery = url.Values{"query": {p.query}}.Encode()
	fail := func(format string, args ...any) (float64, time.Duration, error) {
		return 0, 0, fmt.Errorf("at %s: %w", p.base.Host, fmt.Errorf(format, args...))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fail("%w", err)
	}
	r.Header.Set("Accept", "application/json")
	resp, err := p.http.Do(r)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return fail("%w", err)
	}
	defer func() { _ = resp.Body.Close() }() // read-only
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fail("%w", err)
	}
	var x struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &x); err != nil {
		return fail("%s, and no JSON", resp.Status)
	}
	if x.Status != "success" {
		return fail("%s", oneLine(x.Error))
	}
	var pair []any
	switch x.Data.ResultType {
	case "scalar":
		err = json.Unmarshal(x.Data.Result, &pair)
	case "vector":
		var v []struct{ Value []any }
		if err = json.Unmarshal(x.Data.Result, &v); err == nil {
			if len(v) != 1 {
				return fail("the query gives %d numbers, and one is wanted: take the mean, as in avg(...)", len(v))
			}
			pair = v[0].Value
		}
	default:
		return fail("the query gives a %s, and one number is wanted", x.Data.ResultType)
	}
	if err != nil || len(pair) != 2 {
		return fail("the answer is not understood")
	}
	at, ok1 := pair[0].(float64)
	text, ok2 := pair[1].(string)
	share, err := strconv.ParseFloat(text, 64)
	if !ok1 || !ok2 || err != nil && !math.IsInf(share, 0) {
		return fail("the answer is not understood")
	}
	age := p.now().Sub(time.UnixMicro(int64(at * 1e6)))
	if age.Abs() > maxSampleAge {
		return fail("its number is of %v ago: are the clocks right?", age.Round(time.Second))
	}
	return tidy(share), max(age, 0), nil
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 200 {
		s = string(r[:197]) + "..."
	}
	return s
}
