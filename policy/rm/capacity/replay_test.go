package capacity

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// A player carries out the calls of a script and writes the answers, in the words in which the class of Hadoop was made to
// answer the same calls. Containers are numbered as they are told of.
//
//	time MS | node I RACK MEM VCORES | drop I | add ID QUEUE USER PRIORITY MEM VCORES (of the AM; 0 0: unmanaged)
//	ask ID PRIORITY:PLACE:COUNT:MEM:VCORES ... | release ID K ... | remove ID
//	beat I [L:K,...] [E:K,...] (launched, ended) | round | state | limits
type player struct {
	t     tb
	s     *Scheduler
	now   unit.Time
	seq   int64
	ids   []string // applications present, in the order of submission
	apps  map[string]*rm.App
	nodes map[int64]*rm.Node
	all   []*rm.Container // by number
	out   strings.Builder
}

func newPlayer(t tb, settings string) *player {
	xml := propertiesXML(settings)
	c, err := conf.ReadCapacity(strings.NewReader(xml), "conf")
	if err != nil {
		t.Fatal(err)
	}
	site, err := conf.ReadSite(strings.NewReader(xml), "conf")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(c, site)
	if err != nil {
		t.Fatal(err)
	}
	return &player{t: t, s: s.(*Scheduler), apps: map[string]*rm.App{}, nodes: map[int64]*rm.Node{}, all: []*rm.Container{nil}}
}

// portOf is the port that Recorder.java gives to a node: the first that puts it in the bucket of its number.
func portOf(i int64) int32 {
	n := rm.Node{Name: fmt.Sprint("n", i), Port: 1234}
	for nodeBucket(&n) != uint32(i)%16 {
		n.Port++
	}
	return n.Port
}

// propertiesXML turns lines of key=value into a configuration of Hadoop.
func propertiesXML(lines string) string {
	b := "<configuration>"
	for l := range strings.Lines(lines) {
		if k, v, ok := strings.Cut(strings.TrimSpace(l), "="); ok {
			b += "<property><name>" + k + "</name><value>" + v + "</value></property>"
		}
	}
	return b + "</configuration>"
}

func (p *player) num(s string) int64 {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func (p *player) say(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

func (p *player) play(line string) {
	f := strings.Fields(line)
	s := p.s
	switch f[0] {
	case "time":
		p.now = unit.Time(p.num(f[1])) * unit.Millisecond
	case "node":
		i := p.num(f[1])
		p.nodes[i] = &rm.Node{Index: int32(i), Rack: int32(p.num(f[2])), Name: "n" + f[1], Port: portOf(i), Total: unit.Resources{Mem: p.num(f[3]), Cores: p.num(f[4])}}
		s.NodeAdded(p.nodes[i], p.now)
	case "drop":
		n := p.nodes[p.num(f[1])]
		for _, c := range p.all {
			if c != nil && c.Node == n {
				s.Ended(c, p.now)
			}
		}
		s.NodeRemoved(n, p.now)
		delete(p.nodes, int64(n.Index))
	case "add":
		p.seq++
		a := &rm.App{
			Index: int32(p.seq), Seq: p.seq, ID: f[1], Queue: f[2], User: f[3], Priority: int(p.num(f[4])),
			AM: unit.Resources{Mem: p.num(f[5]), Cores: p.num(f[6])},
		}
		if err := s.Added(a, p.now); err != nil {
			p.say("refused %s\n", f[1])
			return
		}
		p.apps[a.ID] = a
		p.ids = append(p.ids, a.ID)
	case "ask":
		if err := s.Asked(p.apps[f[1]], p.asks(f[2:]), nil, p.now); err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
		p.say("ask %s %s\n", f[1], p.room(f[1]))
	case "release":
		var list []*rm.Container
		for _, k := range f[2:] {
			list = append(list, p.all[p.num(k)])
		}
		if err := s.Asked(p.apps[f[1]], nil, list, p.now); err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
		p.say("release %s %s\n", f[1], p.room(f[1]))
	case "remove":
		s.Removed(p.apps[f[1]], p.now)
		delete(p.apps, f[1])
		p.ids = slices.DeleteFunc(p.ids, func(id string) bool { return id == f[1] })
	case "beat":
		p.beat(f)
	case "round":
		p.round()
	case "state":
		p.state(s.Root)
	case "limits":
		p.limits(s.Root)
	default:
		p.t.Fatalf("what is %q?", line)
	}
}

func (p *player) asks(texts []string) (asks []rm.Ask) {
	for _, text := range texts {
		g := strings.Split(text, ":")
		a := rm.Ask{
			Priority: int32(p.num(g[0])), Place: rm.Anywhere, Count: p.num(g[2]),
			Size: unit.Resources{Mem: p.num(g[3]), Cores: p.num(g[4])},
		}
		switch g[1][0] {
		case 'n':
			a.Place = rm.OnNode(int32(p.num(g[1][1:])))
		case 'r':
			a.Place = rm.OnRack(int32(p.num(g[1][1:])))
		}
		asks = append(asks, a)
	}
	return asks
}

// room is what an application is told that it could still get. It is not compared before its first container: until Hadoop
// has visited an application in a walk it answers nothing, and here it is computed as later.
func (p *player) room(id string) string {
	room := p.s.Headroom(p.apps[id])
	if slices.ContainsFunc(p.all, func(c *rm.Container) bool { return c != nil && c.App.ID == id }) {
		return "room=" + vec(room)
	}
	return "room=?"
}

func vec(r unit.Resources) string { return fmt.Sprintf("%d,%d", r.Mem, r.Cores) }

func (p *player) beat(f []string) {
	i := p.num(f[1])
	for _, part := range f[2:] {
		for _, k := range strings.Split(part[2:], ",") {
			if c := p.all[p.num(k)]; part[0] == 'L' {
				c.Launched = true
			} else {
				p.s.Ended(c, p.now)
			}
		}
	}
	got := p.s.Beat(p.nodes[i], p.now)
	p.say("beat %d:", i)
	for _, id := range p.ids {
		n := len(p.all)
		for _, c := range got {
			if c.App.ID == id {
				p.say(" %d=%s/%s/%s/%d", len(p.all), id, c.Node.Name, vec(c.Size), c.Priority)
				p.all = append(p.all, c)
				c.Acquired = true
			}
		}
		if len(p.all) > n {
			p.say(" %s", p.room(id))
		}
	}
	p.say(" free=%s", vec(p.nodes[i].Free))
	if k := p.s.nodes[i].reservation; k != nil {
		p.say(" kept=%s/%s", k.a.ID, vec(k.size))
	}
	p.say("\n")
}

// round lists marks and kills in the order of their names: Hadoop's depends on a hash table of queues.
func (p *player) round() {
	notice := p.s.Round(p.now)
	var list []string
	for _, c := range notice.Warned {
		list = append(list, fmt.Sprintf("mark:%d", slices.Index(p.all, c)))
	}
	for _, c := range notice.Killed {
		list = append(list, fmt.Sprintf("kill:%d", slices.Index(p.all, c)))
	}
	slices.Sort(list)
	p.say("round %s\n", strings.Join(list, " "))
}

func byPath(list []*queue) []*queue {
	return slices.SortedFunc(slices.Values(list), func(a, b *queue) int { return strings.Compare(a.Path, b.Path) })
}

func byName(list []*user) []*user {
	return slices.SortedFunc(slices.Values(list), func(a, b *user) int { return strings.Compare(a.name, b.name) })
}

func (p *player) state(q *queue) {
	p.say(" %s used=%s pending=%s kept=%s min=%s max=%s", q.Path, vec(q.Used), vec(q.pending), vec(q.reserved), vec(q.EffMin), vec(q.EffMax))
	if q.Leaf != nil {
		p.say(" active=%d waiting=%d am=%s users=%d", q.active.Len(), q.waiting.Len(), vec(q.AMUsed), q.ActiveUsers+q.PendingCached)
		for _, u := range byName(q.list) {
			p.say(" %s=%s/%s/%d/%d", u.name, vec(u.Used), vec(u.AM), u.Active, u.Pending)
		}
	}
	p.say("\n")
	for _, k := range byPath(q.Children) {
		p.state(k)
	}
	if q == p.s.Root {
		for _, id := range p.ids {
			a := p.s.apps[p.apps[id].Index]
			p.say("  %s used=%s pending=%s kept=%s\n", id, vec(a.used), vec(a.table.Pending()), vec(a.reserved))
		}
	}
}

func (p *player) limits(q *queue) {
	if q.Leaf != nil {
		for _, u := range byName(q.list) {
			p.say(" %s %s %s\n", q.Path, u.name, vec(p.s.UserLimit(&q.Queue)))
		}
	}
	for _, k := range byPath(q.Children) {
		p.limits(k)
	}
}

// The folders in testdata/hadoop hold settings, calls and what the CapacityScheduler of Hadoop 3.4.2 answered to them, driven
// by hand with a clock of its own: the same calls must have the same answers here.
func TestAnswersOfHadoop(t *testing.T) {
	scripts, err := filepath.Glob("testdata/hadoop/*/script.gz")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, path := range scripts {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			read := func(name string) string {
				f, err := os.Open(filepath.Join(dir, name+".gz"))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				z, err := gzip.NewReader(f)
				if err != nil {
					t.Fatal(err)
				}
				data, err := io.ReadAll(z)
				if err != nil {
					t.Fatal(err)
				}
				return string(data)
			}
			p := newPlayer(t, read("conf"))
			want := strings.Split(strings.TrimSuffix(read("hadoop.log"), "\n"), "\n")
			for i, line := range strings.Split(strings.TrimSpace(read("script")), "\n") {
				p.play(line)
				for got := range strings.Lines(p.out.String()) {
					got = strings.TrimSuffix(got, "\n")
					if len(want) == 0 || got != want[0] {
						t.Fatalf("after line %d (%s):\n%s, but Hadoop said\n%s", i+1, line, got, strings.Join(want[:min(1, len(want))], ""))
					}
					want = want[1:]
				}
				p.out.Reset()
			}
			if len(want) > 0 {
				t.Errorf("Hadoop said more: %s", want[0])
			}
		})
	}
}
