package fair

import (
	"bufio"
	"fmt"
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
// answer the same calls:
//
//	time MS | node I RACK MEM VCORES | add ID QUEUE USER MANAGED | ask ID PRIORITY:PLACE:COUNT:MEM:VCORES ...
//	end ID NODE MEM VCORES | remove ID | update | beat I | state
type player struct {
	w   *world
	ids []string // in the order of submission
	out strings.Builder
}

func (p *player) play(t tb, line string) {
	f := strings.Fields(line)
	w := p.w
	num := func(s string) int64 {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return v
	}
	switch f[0] {
	case "time":
		w.now = unit.Time(num(f[1])) * ms
	case "node":
		n := &rm.Node{Index: int32(num(f[1])), Rack: int32(num(f[2])), Name: "n" + f[1], Total: r(num(f[3]), num(f[4]))}
		w.nodes = append(w.nodes, n)
		w.s.NodeAdded(n, w.now)
	case "add":
		w.seq++
		a := &rm.App{Index: int32(w.seq), Seq: w.seq, ID: f[1], Queue: f[2], User: f[3]}
		if f[4] == "1" {
			a.AM = mb(1024)
		}
		if err := w.s.Added(a, w.now); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		w.apps[a.ID] = a
		p.ids = append(p.ids, a.ID)
	case "ask":
		var asks []rm.Ask
		for _, text := range f[2:] {
			g := strings.Split(text, ":")
			a := rm.Ask{Priority: int32(num(g[0])), Place: rm.Anywhere, Count: num(g[2]), Size: r(num(g[3]), num(g[4]))}
			switch g[1][0] {
			case 'n':
				a.Place = rm.OnNode(int32(num(g[1][1:])))
			case 'r':
				a.Place = rm.OnRack(int32(num(g[1][1:])))
			}
			asks = append(asks, a)
		}
		if err := w.ask(f[1], asks...); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	case "end":
		for _, id := range (&scenario{w}).containers() {
			c := w.all[id]
			if c.App.ID == f[1] && c.Node.Name == f[2] && c.Size == r(num(f[3]), num(f[4])) {
				w.end(c)
				return
			}
		}
		fmt.Fprintf(&p.out, "%s -> none\n", line)
	case "remove":
		a := w.apps[f[1]]
		w.remove(f[1])
		for id, c := range w.all {
			if c.App == a {
				w.s.Ended(c, w.now)
				delete(w.all, id)
			}
		}
		p.ids = slices.DeleteFunc(p.ids, func(id string) bool { return id == f[1] })
	case "update":
		w.s.Round(w.now)
	case "beat":
		p.beat(line, int(num(f[1])))
	case "state":
		p.dump(w.s.Root)
		for _, id := range p.ids {
			a := w.s.apps[w.apps[id].Index]
			fmt.Fprintf(&p.out, "  %s %s %s %s %s %v\n", id, vec(a.Used), vec(a.Demand), vec(a.share), vec(w.s.Headroom(a.app)), a.runnable)
		}
	}
}

func vec(r unit.Resources) string { return fmt.Sprintf("%d,%d", r.Mem, r.Cores) }

func (p *player) beat(line string, i int) {
	got := p.w.beat(i)
	fmt.Fprintf(&p.out, "%s:", line)
	for _, id := range p.ids {
		var mine []string
		for _, c := range got {
			if c.App.ID == id {
				mine = append(mine, fmt.Sprintf(" %s/%s/%d/%d/%d", id, c.Node.Name, c.Size.Mem, c.Size.Cores, c.Priority))
			}
		}
		slices.Sort(mine)
		p.out.WriteString(strings.Join(mine, ""))
	}
	if k := p.w.s.nodes[i].kept; k.app != nil {
		fmt.Fprintf(&p.out, " kept:%s", k.app.app.ID)
	}
	p.out.WriteString("\n")
}

func (p *player) dump(q *queue) {
	fmt.Fprintf(&p.out, " %s %s %s %s\n", q.Name, vec(q.Used), vec(q.Demand), vec(q.share))
	kids := slices.Clone(q.Kids)
	slices.SortFunc(kids, func(a, b *queue) int { return strings.Compare(a.Name, b.Name) })
	for _, k := range kids {
		p.dump(k)
	}
}

// The folders in testdata/hadoop hold calls and what the FairScheduler of Hadoop 3.4.2 answered to them, driven by hand with
// a clock of its own: the same calls must have the same answers here.
func TestAnswersOfHadoop(t *testing.T) {
	scripts, err := filepath.Glob("testdata/hadoop/*/script")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, path := range scripts {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			read := func(name string) string {
				data, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				return string(data)
			}
			set, err := conf.ReadSite(strings.NewReader(siteXML(read("site"))), "site")
			if err != nil {
				t.Fatal(err)
			}
			p := &player{w: newWorld(t, inside(read("fair.xml")), set)}
			want := bufio.NewScanner(strings.NewReader(read("hadoop.log")))
			for i, line := range strings.Split(strings.TrimSpace(read("script")), "\n") {
				p.play(t, line)
				for got := range strings.Lines(p.out.String()) {
					if !want.Scan() || strings.TrimSuffix(got, "\n") != want.Text() {
						t.Fatalf("after line %d (%s):\n%s, but Hadoop said\n%s", i+1, line, got, want.Text())
					}
				}
				p.out.Reset()
			}
			if want.Scan() {
				t.Errorf("Hadoop said more: %s", want.Text())
			}
		})
	}
}

// siteXML turns lines of key=value into a yarn-site.xml.
func siteXML(lines string) string {
	b := "<configuration>"
	for l := range strings.Lines(lines) {
		if k, v, ok := strings.Cut(strings.TrimSpace(l), "="); ok {
			b += "<property><name>" + k + "</name><value>" + v + "</value></property>"
		}
	}
	return b + "</configuration>"
}

// inside is what stands between the allocations.
func inside(xml string) string {
	_, xml, _ = strings.Cut(xml, "<allocations>")
	xml, _, _ = strings.Cut(xml, "</allocations>")
	return xml
}
