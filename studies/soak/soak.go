// Package soak leaves a program running for hours while its surroundings change, samples its size, and judges whether that stays flat.
package soak

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
)

// Sample is the size of a process at an instant.
type Sample struct {
	At          float64            `json:"at_s"` // since the start
	Name        string             `json:"name"`
	PID         int                `json:"pid"`
	RSS         int64              `json:"rss_bytes"`
	Heap        int64              `json:"heap_bytes,omitempty"` // in use, as Go reports it
	Descriptors int                `json:"descriptors"`
	Threads     int                `json:"threads"`
	Goroutines  int                `json:"goroutines,omitempty"`
	CPU         float64            `json:"cpu_s"`
	Load        float64            `json:"load"`           // of the computer
	Disk        int64              `json:"disk,omitempty"` // bytes that it keeps
	Work        map[string]float64 `json:"work,omitempty"` // counters of the program
}

// Measure samples a process, and its metrics if their address is given: the counters are those whose names begin with prefix.
func Measure(name string, pid int, metrics, prefix string) (Sample, error) {
	open, err1 := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	threads, err2 := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	rss, cpu, err3 := proc.Usage(pid)
	s := Sample{Name: name, PID: pid, RSS: rss, CPU: cpu.Seconds(), Descriptors: len(open), Threads: len(threads), Load: host.LoadAverage(host.OneMinute), Work: map[string]float64{}}
	m := map[string]float64{}
	if metrics != "" {
		m = Metrics(metrics)
	}
	s.Heap, s.Goroutines = int64(m["go_memstats_heap_inuse_bytes"]), int(m["go_goroutines"])
	for key, v := range m {
		if strings.HasPrefix(key, prefix) && strings.HasSuffix(key, "_total") && v > 0 {
			s.Work[strings.TrimSuffix(strings.TrimPrefix(key, prefix), "_total")] = v
		}
	}
	return s, errors.Join(err1, err2, err3)
}

// Metrics reads a program's metrics, summed over their labels; none if it does not answer.
func Metrics(address string) map[string]float64 {
	m, client := map[string]float64{}, http.Client{Timeout: 10 * time.Second}
	r, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		return m
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body) // what has come
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, "{")
		name, _, _ = strings.Cut(name, " ")
		if v, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 64); err == nil {
			m[name] += v
		}
	}
	return m
}

// Limits say what counts as flat: of the medians of the second and of the last quarter of the time.
type Limits struct {
	Share       float64 `json:"share"`       // memory may have grown by this,
	Bytes       float64 `json:"bytes"`       // or by this, if that is more,
	Descriptors float64 `json:"descriptors"` // and descriptors, threads and goroutines by so many
}

// Limits of soaks, and of miniatures, whose quarters are seconds.
var (
	Flat  = Limits{Share: 0.10, Bytes: 5 << 20, Descriptors: 2}
	Loose = Limits{Share: 1, Bytes: 64 << 20, Descriptors: 20}
)

// Event is one of the things that happened.
type Event struct {
	At   float64 `json:"at_s"`
	Kind string  `json:"kind"`
	Text string  `json:"text,omitempty"`
	Took float64 `json:"took_s,omitempty"` // until the program did its work again
	Miss string  `json:"miss,omitempty"`
}

// Record is one soak.
type Record struct {
	What    string             `json:"what"`
	Began   time.Time          `json:"began"`
	Asked   float64            `json:"asked_s"`
	Lasted  float64            `json:"lasted_s"`
	Limits  Limits             `json:"limits"` // set before the start
	Samples []Sample           `json:"samples"`
	Events  []Event            `json:"events"`
	Counts  map[string]float64 `json:"counts,omitempty"` // of what came and went
	Misses  []string           `json:"misses"`
}

// Churn is something that happens again and again.
type Churn struct {
	Kind         string
	First, Every time.Duration
	Do           func(n int) (text string, err error) // returns once the program does its work again
}

// Plan is a soak to make.
type Plan struct {
	What    string
	For     time.Duration
	Limits  Limits
	File    string // gets every line at once, so that a soak that is cut off leaves what it has
	Log     func(format string, args ...any)
	Measure func() ([]Sample, error)
	Churn   []Churn
}

// Run makes the soak. It ends early, with what it has, when the program has ended or the context has.
func (p *Plan) Run(ctx context.Context) (*Record, error) {
	file, err := os.Create(p.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := &Record{What: p.What, Began: time.Now().UTC(), Asked: p.For.Seconds(), Limits: p.Limits, Counts: map[string]float64{}, Misses: []string{}}
	var mu sync.Mutex
	out := json.NewEncoder(file)
	_ = out.Encode(r) // this and what follows: best effort, the record has it too
	ctx, cancel := context.WithTimeout(ctx, p.For)
	done, since := make(chan struct{}), func() float64 { return time.Since(r.Began).Seconds() }
	go func() {
		defer close(done)
		defer cancel()
		for tick := r.Began; host.Sleep(ctx, time.Until(tick)) == nil; tick = tick.Add(min(time.Minute, p.For/24)) {
			list, err := p.Measure()
			mu.Lock()
			for _, s := range list {
				s.At = since()
				r.Samples = append(r.Samples, s)
				_ = out.Encode(s)
				p.Log("%5.0f s  %s: %.1f MB, %d descriptors, %d threads, %d goroutines, load %.1f", s.At, s.Name, float64(s.RSS)/mb, s.Descriptors, s.Threads, s.Goroutines, s.Load)
			}
			if err != nil {
				r.Misses = append(r.Misses, "it has ended: "+err.Error())
			}
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	counts, due := make([]int, len(p.Churn)), make([]time.Time, len(p.Churn))
	for i, c := range p.Churn {
		due[i] = r.Began.Add(c.First)
	}
	for {
		i := slices.Index(due, slices.MinFunc(due, time.Time.Compare))
		if host.Sleep(ctx, time.Until(due[i])) != nil {
			break
		}
		c, e := p.Churn[i], Event{At: since(), Kind: p.Churn[i].Kind}
		e.Text, err = c.Do(counts[i])
		e.Took = since() - e.At
		mu.Lock()
		if err != nil {
			e.Miss = err.Error()
			r.Misses = append(r.Misses, fmt.Sprintf("%s at %.0f s: %s", e.Kind, e.At, e.Miss))
		}
		r.Events = append(r.Events, e)
		_ = out.Encode(e)
		mu.Unlock()
		p.Log("%5.0f s  %s: %s (%.1f s) %s", e.At, e.Kind, e.Text, e.Took, e.Miss)
		counts[i], due[i] = counts[i]+1, due[i].Add(c.Every)
	}
	<-done
	if r.Lasted = since(); r.Lasted < r.Asked-1 {
		r.Misses = append(r.Misses, fmt.Sprintf("cut off after %.0f of %.0f s", r.Lasted, r.Asked))
	}
	r.Judge()
	return r, nil
}

// Judge adds to the misses what is not flat.
func (r *Record) Judge() {
	for _, t := range r.Trends() {
		if !t.Met() {
			r.Misses = append(r.Misses, fmt.Sprintf("%s, %s: %.1f in the second quarter, %.1f in the last, at most %.1f", t.Process, t.Figure, t.Second, t.Last, t.Limit))
		}
	}
}

// Truncate rotates a log as logrotate does with copytruncate, and checks that further lines start the file again once the program has worked.
func Truncate(file string, works func() error) (text string, err error) {
	b, err := os.ReadFile(file)
	if err == nil {
		err = cmp.Or(os.WriteFile(file+".1", b, 0o600), os.Truncate(file, 0), works())
	}
	after, _ := os.ReadFile(file)
	if err == nil && (len(after) == 0 || after[0] == 0) {
		err = errors.New("no line follows in the truncated file, or at its old offset")
	}
	return fmt.Sprintf("copied and truncated at %.1f MB: further lines start the file again", float64(len(b))/mb), err
}

const mb = 1 << 20

// Trend is how one figure of a process went.
type Trend struct {
	Process, Figure string
	Second, Last    float64 // medians of the quarters
	Most            float64
	Slope, Half     float64 // an hour, after the first quarter, by least squares, and half its 95 % interval as if samples were independent
	Limit           float64 // of Last
}

// Met reports whether it is flat.
func (t *Trend) Met() bool { return t.Last <= t.Limit }

var figures = []struct {
	name string
	unit float64 // of memory
	of   func(*Sample) float64
}{
	{"memory, MB", mb, func(s *Sample) float64 { return float64(s.RSS) / mb }}, {"Go heap, MB", mb, func(s *Sample) float64 { return float64(s.Heap) / mb }},
	{"descriptors", 0, func(s *Sample) float64 { return float64(s.Descriptors) }}, {"threads", 0, func(s *Sample) float64 { return float64(s.Threads) }},
	{"goroutines", 0, func(s *Sample) float64 { return float64(s.Goroutines) }},
}

// series are the values of a figure of a process that are known, with their times.
func (r *Record) series(name string, of func(*Sample) float64) (at, v []float64) {
	for i := range r.Samples {
		if s := &r.Samples[i]; s.Name == name && of(s) > 0 {
			at, v = append(at, s.At), append(v, of(s))
		}
	}
	return at, v
}

// Last are the last samples of all processes.
func (r *Record) Last() map[string]Sample {
	last := map[string]Sample{}
	for _, s := range r.Samples {
		last[s.Name] = s
	}
	return last
}

// Trends are those of all processes and figures.
func (r *Record) Trends() (list []*Trend) {
	for name, last := range r.Last() {
		for _, f := range figures {
			at, v := r.series(name, f.of)
			quarter := func(q float64) int { i, _ := slices.BinarySearch(at, q*last.At/4); return i }
			if quarter(1) == quarter(2) || quarter(3) == len(at) {
				continue
			}
			t := &Trend{Process: name, Figure: f.name, Second: result.Quantile(v[quarter(1):quarter(2)], 0.5), Last: result.Quantile(v[quarter(3):], 0.5), Most: slices.Max(v)}
			t.Slope, t.Half = slope(at[quarter(1):], v[quarter(1):])
			if t.Limit = t.Second + r.Limits.Descriptors; f.unit > 0 {
				t.Limit = t.Second + max(r.Limits.Share*t.Second, r.Limits.Bytes/f.unit)
			}
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b *Trend) int { return strings.Compare(b.Process, a.Process) })
	return list
}

// slope fits a line, by least squares: what y rises by in 3600 of x, and half its 95 % interval.
func slope(x, y []float64) (rise, half float64) {
	n, mx, my := float64(len(x)), result.Mean(x).Mean, result.Mean(y).Mean
	var xx, xy, rest float64
	for i := range x {
		xx, xy = xx+(x[i]-mx)*(x[i]-mx), xy+(x[i]-mx)*(y[i]-my)
	}
	for i := range x {
		e := y[i] - my - xy/xx*(x[i]-mx)
		rest += e * e
	}
	return 3600 * xy / xx, 3600 * 1.96 * math.Sqrt(rest/(n-2)/xx)
}

//go:embed soak.md.tmpl
var table string

// Text is a record for a page.
func Text(r *Record) (string, error) {
	return evidence.Page(table, "", r, template.FuncMap{"line": func(s string) string { first, _, _ := strings.Cut(s, "\n"); return first }})
}

//go:embed size.svg.tmpl
var picture string

// Picture draws how the size of the first process went, and when things happened.
func Picture(file string, r *Record) error {
	x := func(at float64) float64 { return 150 + 900*at/r.Lasted }
	var panels []map[string]any
	for i, f := range figures {
		at, v := r.series(r.Samples[0].Name, f.of)
		top, most, points := 40+100*i, 1.2*slices.Max(append(v, 0.1)), ""
		for i := range at {
			points += fmt.Sprintf("%.1f,%.1f ", x(at[i]), 70*(1-v[i]/most))
		}
		panels = append(panels, map[string]any{"Title": f.name, "Top": top, "Most": most, "Points": points})
	}
	ticks := []float64{0, r.Lasted / 4, r.Lasted / 2, r.Lasted * 3 / 4, r.Lasted}
	_, err := evidence.Page(picture, file, map[string]any{"Panels": panels, "Soak": r, "Ticks": ticks}, template.FuncMap{"x": x})
	return err
}
