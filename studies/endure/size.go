package endure

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/conform"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop/sls"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Size measures the steerer at one length of the ResourceManager's list.
type Size struct {
	Mode     string   `json:"mode"` // observe or act
	Nodes    int64    `json:"nodes"`
	Listed   int64    `json:"listed"`  // applications that the ResourceManager knows
	Waiting  int64    `json:"waiting"` // of them in the steered queue
	Running  int64    `json:"running"`
	First    float64  `json:"first_ms"` // the first sample, which lists all waiting applications
	Cycles   int      `json:"cycles"`
	Median   float64  `json:"median_ms"` // of the later samples: from the first request to the last answer
	Most     float64  `json:"most_ms"`
	Requests float64  `json:"requests"` // per sample, mean, without those for ended applications
	Greatest int      `json:"greatest"` // maximum per sample
	Bytes    float64  `json:"bytes"`    // of answers per sample, mean
	Changes  int      `json:"changes"`
	RSS      int64    `json:"rss"` // peak, bytes
	CPU      float64  `json:"cpu_s"`
	Load     float64  `json:"load,omitempty"` // of the whole computer over the last minute
	Paths    []string `json:"paths"`          // requests of the last sample
	Miss     string   `json:"miss,omitempty"`
}

// The bars.
const (
	longestCycle = 1000 // ms
	mostMemory   = 100 << 20
)

// bigQueues steers batch; 153 AMs of 1 GB fit into the original share.
var bigQueues = map[string]string{
	"root.queues": "prod,batch,adhoc", "maximum-am-resource-percent": "0.3", "maximum-applications": "100000",
	"root.prod.capacity": "50", "root.batch.capacity": "30", "root.adhoc.capacity": "20",
	"root.prod.user-limit-factor": "4", "root.batch.user-limit-factor": "4", "root.adhoc.user-limit-factor": "4",
	"root.batch." + amPercent: "0.1",
}

// size gives the steerer a ResourceManager with hundreds of nodes under load and ever longer lists of applications: a fifth
// waits in the steered queue, a fifth in another, the rest has ended.
func (s *Study) size(ctx context.Context, t *sheet) error {
	dir, err := s.folder("size")
	if err != nil {
		return err
	}
	o := conform.Live(s.Nodes, s.Nodes/2, 10*time.Minute, false)
	o.Dir, o.HeapMB = filepath.Join(dir, "run"), 1536
	o.Capacity = []byte(hadoop.Properties("yarn.scheduler.capacity.", bigQueues))
	// Jobs that run in the steered queue throughout.
	for i := range s.Nodes / 5 {
		o.Jobs = append(o.Jobs, sls.Job{ID: fmt.Sprintf("long-%d", i), Type: "mapreduce", Start: int64(50 * i), Queue: "batch", User: "dave",
			Tasks: []sls.Task{{Duration: 1_800_000, Type: "map", Mem: 1024, Cores: 1, Count: 4}}})
	}
	slices.SortStableFunc(o.Jobs, func(a, b sls.Job) int { return int(a.Start - b.Start) })
	live, err := sls.Up(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = sls.Down(live.Dir) }()
	large := &yard{Cluster: &hadoop.Cluster{Dir: live.Dir}, queue: "root.batch", address: live.URL, login: []string{"--user", who}, journal: filepath.Join(dir, "journal")}
	y, err := large.readOriginal(ctx, rest.User(who), "")
	if err != nil {
		return err
	}
	rm := y.rm
	if !proc.Await(ctx, 90*time.Second, 200*time.Millisecond, func() bool {
		m, err := rm.Metrics(ctx)
		return err == nil && m.ActiveNodes == int64(s.Nodes) && m.AppsRunning >= int64(s.Nodes/5)
	}) {
		m, err := rm.Metrics(ctx)
		return fmt.Errorf("the nodes, or the jobs on them, did not start: %+v, %v", m, err)
	}
	x, err := NewProxy(live.URL)
	if err != nil {
		return err
	}
	defer x.Close()
	before := 0
	for _, n := range s.Apps {
		more := n - before
		before = n
		for _, q := range []string{"root.batch", "root.adhoc"} {
			if _, err := y.submit(ctx, "carol", q, more/5, 0); err != nil {
				return err
			}
		}
		ended, err := y.submit(ctx, "erin", "root.adhoc", more-2*(more/5), 0)
		if err == nil {
			err = host.Each(ctx, len(ended), 8, func(ctx context.Context, i int) error { _, err := rm.KillApp(ctx, ended[i]); return err })
		}
		if err != nil {
			return err
		}
		if !proc.Await(ctx, 2*time.Minute, 100*time.Millisecond, func() bool { m, err := rm.Metrics(ctx); return err == nil && m.AppsSubmitted >= int64(n) }) {
			return fmt.Errorf("%d applications did not appear", n)
		}
		for _, mode := range []string{"observe", "act"} {
			row, err := s.cycle(ctx, x, *y, mode)
			if err != nil {
				return err
			}
			s.say("%s, %d applications: first sample %.0f ms, then %.0f (at most %.0f) ms, %.1f requests, %.0f KB, %d MB %s", mode, row.Listed,
				row.First, row.Median, row.Most, row.Requests, row.Bytes/1e3, row.RSS>>20, row.Miss)
			t.Rows = append(t.Rows, &row)
		}
	}
	t.Sum.Misses = judge(rows[Size](series{t}))
	return nil
}

// cycle runs the steerer through some samples and measures them from outside.
func (s *Study) cycle(ctx context.Context, x *Proxy, y yard, mode string) (Size, error) {
	row := Size{Mode: mode}
	m, err := y.rm.Metrics(ctx)
	if err != nil {
		return row, err
	}
	row.Nodes, row.Listed = m.ActiveNodes, m.AppsSubmitted
	x.Asked()
	if mode == "observe" {
		y.journal = ""
	}
	p, err := y.steer(s.bin, x.URL, nil, "--policy", "cbt", "--cpu", "allocation", "--set", "interval=1s", "--set", "after-increase=1s", "--set", "settle=0s", "--set", "warm=0s", "--min", "0.05", "--max", "0.9")
	if err != nil {
		return row, err
	}
	defer p.End()
	samples := 21
	if s.Brief {
		samples = 8
	}
	proc.Await(ctx, 90*time.Second, 100*time.Millisecond, func() bool { return p.Count("decided") > samples || !p.Alive() })
	row.RSS, row.Load = proc.Peak(p.Pid), host.LoadAverage(host.OneMinute)
	lines := p.Lines()
	asked := x.Asked()
	if _, ok := p.Stop(40 * time.Second); !ok {
		row.Miss = "it does not end"
	}
	if st := p.State(); st != nil {
		row.CPU = (st.UserTime() + st.SystemTime()).Seconds()
	}
	if mode == "act" && (!y.set.original(ctx) || !y.set.obeyed(ctx)) {
		row.Miss = "the setting is not as found"
	}
	row.measure(lines, asked)
	if row.Cycles < samples-1 {
		row.Miss = fmt.Sprintf("only %d looks: %s", row.Cycles, p.Last())
	}
	return row, nil
}

// measure groups the requests into samples: one begins with the queues and ends with the line that reports it. Reads in between that
// verify a change do not count.
func (r *Size) measure(lines []steerer.Line, asked []Request) {
	var took []float64
	var last []Request
	var requests, most int
	var bytes int64
	at := 0
	for i, l := range lines {
		if l.Kind() != "decided" {
			continue
		}
		var of []Request
		for at < len(asked) && asked[at].At.Before(l.At) {
			if asked[at].Method == http.MethodGet && sensor(asked[at].Path) {
				of = append(of, asked[at])
			}
			at++
		}
		begin := -1
		for j, q := range of {
			if strings.HasSuffix(q.Path, "/scheduler") {
				begin = j
			}
		}
		if begin < 0 {
			continue
		}
		of = of[begin:]
		last = of
		end := of[0].At
		for _, q := range of {
			if e := q.At.Add(q.Took); e.After(end) {
				end = e
			}
		}
		ms := float64(end.Sub(of[0].At).Microseconds()) / 1000
		if x, ok := lines[i].Number("pending"); ok {
			r.Waiting = int64(x)
		}
		if x, ok := lines[i].Number("running"); ok {
			r.Running = int64(x)
		}
		if r.First == 0 {
			r.First = ms
			continue
		}
		took = append(took, ms)
		most = max(most, len(of))
		for _, q := range of {
			bytes += q.Bytes
			if !strings.Contains(q.Query, "FINISHED") { // those that have ended are listed only in a look after which some have
				requests++
			}
		}
	}
	r.Changes = changes(asked)
	r.Cycles = len(took)
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	r.Median, r.Most = took[len(took)/2], took[len(took)-1]
	r.Requests, r.Greatest, r.Bytes = float64(requests)/float64(len(took)), most, float64(bytes)/float64(len(took))
	for _, q := range last {
		r.Paths = append(r.Paths, strings.TrimSuffix(strings.TrimPrefix(q.Path, "/ws/v1/cluster/"), "/")+" "+states(q.Query))
	}
}

// sensor reports whether a path is read by the sensor, and not to verify a change.
func sensor(path string) bool {
	return !strings.Contains(path, "scheduler-conf") && path != "/conf" && !strings.HasSuffix(path, "/info")
}

// states is the part of a query that selects applications.
func states(query string) string {
	var keep []string
	for _, part := range strings.Split(query, "&") {
		if strings.HasPrefix(part, "states=") || strings.HasPrefix(part, "startedTimeBegin=") {
			keep = append(keep, part)
		}
	}
	return strings.Join(keep, " ")
}

// judge checks the rows against the bars.
func judge(rows []*Size) (misses []string) {
	for _, mode := range []string{"observe", "act"} {
		var few, many float64
		for _, r := range rows {
			if r.Mode != mode {
				continue
			}
			name := fmt.Sprintf("%s, %d applications: ", mode, r.Listed)
			if r.Miss != "" {
				misses = append(misses, name+r.Miss)
			}
			if r.Most > longestCycle || r.First > longestCycle {
				misses = append(misses, fmt.Sprintf("%sa look took %.0f ms", name, max(r.Most, r.First)))
			}
			if r.RSS > mostMemory {
				misses = append(misses, fmt.Sprintf("%s%d MB", name, r.RSS>>20))
			}
			if few == 0 {
				few = r.Requests
			}
			if float64(r.Greatest) > few+2 {
				misses = append(misses, fmt.Sprintf("%s%d requests in one look", name, r.Greatest))
			}
			many = r.Requests
		}
		if mode == "observe" && few != many {
			misses = append(misses, fmt.Sprintf("%s: %.2f requests a look with the shortest list and %.2f with the longest", mode, few, many))
		}
	}
	return misses
}

const crowdType = "CROWD"

// submit adds n applications of a user to a queue over REST. Their AMs are unmanaged and never start: each waits for room in its queue's AM
// limit, or has it and stays ACCEPTED until it is killed.
func (y *yard) submit(ctx context.Context, user, queue string, n, priority int) (ids []string, err error) {
	const workers = 8 // concurrent submissions
	web := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: workers, MaxConnsPerHost: workers}}
	ask := func(ctx context.Context, path string, body, answer any) error {
		return hadoop.Ask(ctx, web, http.MethodPost, y.address+"/ws/v1/cluster/apps"+path+"?user.name="+user, body, answer)
	}
	ids = make([]string, n)
	err = host.Each(ctx, n, workers, func(ctx context.Context, i int) error {
		var id struct {
			ID string `json:"application-id"`
		}
		if err := ask(ctx, "/new-application", nil, &id); err != nil {
			return err
		}
		ids[i] = id.ID
		return ask(ctx, "", map[string]any{
			"application-id": id.ID, "application-name": "crowd", "queue": queue, "unmanaged-AM": true, "max-app-attempts": 1,
			"am-container-spec": map[string]any{"commands": map[string]string{"command": "true"}},
			"resource":          map[string]int{"memory": 1024, "vCores": 1}, "application-type": crowdType, "priority": priority,
		}, nil)
	})
	if err != nil {
		return nil, fmt.Errorf("submitting applications to %s: %w", queue, err)
	}
	return ids, nil
}
