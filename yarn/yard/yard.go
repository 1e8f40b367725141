package yard

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Actuators.
const (
	Auto         = "auto"          // depends on the scheduler and its configuration store
	REST         = "rest"          // CapacityScheduler, scheduler-conf
	CapacityFile = "capacity-file" // capacity-scheduler.xml and a command that makes the ResourceManager reload it
	FairFile     = "fair-file"     // fair-scheduler.xml, which the ResourceManager polls
)

// Actuators lists the ways to set the knob.
func Actuators() []string { return []string{Auto, REST, CapacityFile, FairFile} }

// Options say what to watch and how to change it.
type Options struct {
	Client     *rest.Client
	Queues     []string // leaves to steer: root.default, or default if that is unambiguous; All: all leaves
	Actuator   string   // one of Actuators; "": auto
	File       string   // the scheduler's file, as this machine sees it
	Refresh    []string // command that makes the ResourceManager reload capacity-scheduler.xml: yarn rmadmin -refreshQueues
	CPU        string   // source of idle processors, see Sources; "": allocation
	AMs        bool     // query the AMs of MapReduce jobs for their map progress, at most eight per sample
	Pending    bool     // query running applications for the containers that they wait for, at most eight per sample
	Absent     bool     // the queues, given by full names, need not exist now: Read checks each time
	Capacities bool     // the policy changes capacities of siblings
}

// All stands for all queues.
const All = "all"

// Yard is a ResourceManager and some of its queues, which may be set. Its methods may be called from several goroutines.
type Yard struct {
	c             *rest.Client
	o             Options
	paths         []string // of the steered queues, by name
	order         []string // of the same, as given
	limit         amlimit.Limit
	minAllocation unit.Resources
	maxPriority   int64  // of an application
	dominant      bool   // the CapacityScheduler is known to count vcores
	cluster       string // its identity
	began         time.Time
	cpu           source
	act           actuator
	fair          *fairFile // nil: no file
	notes         []string

	mu    sync.Mutex
	was   map[drive.Knob]*drive.Value // knobs when they were last read or written; nil: unknown
	shown map[string]float64          // by queue, the share that the FairScheduler last showed while an application waited, without a file
	nodes census
	roll  roll
	maps  ams
	asks  asks
}

var _ drive.Engine = (*Yard)(nil)

// New identifies the ResourceManager. A missing queue is an error. A knob that cannot be set is not: it can still be
// watched; see CanAct.
func New(ctx context.Context, o Options) (*Yard, error) {
	if o.Client == nil {
		return nil, errors.New("a yard needs a client of the ResourceManager")
	}
	y := &Yard{c: o.Client, o: o, was: map[drive.Knob]*drive.Value{}, shown: map[string]float64{}, began: time.Now()}
	s, err := y.c.Scheduler(ctx)
	if err != nil {
		return nil, err
	}
	info, err := y.c.Info(ctx)
	if err != nil {
		return nil, err
	}
	version := versionOf(info.HadoopVersion)
	switch {
	case s.Type == "capacityScheduler":
		y.limit = amlimit.Capacity
	case s.Type == "fairScheduler" && version < 300:
		y.limit = amlimit.FairV2
	case s.Type == "fairScheduler":
		y.limit = amlimit.Fair
	default:
		return nil, fmt.Errorf("the ResourceManager runs the %s: only the CapacityScheduler and the FairScheduler have a share for AMs", s.Type)
	}
	queues, err := y.choose(s.Root)
	if err != nil {
		return nil, err
	}
	props, err := y.c.Conf(ctx)
	if err != nil {
		return nil, err
	}
	y.minAllocation = unit.Resources{Mem: amount(props, "yarn.scheduler.minimum-allocation-mb", 1024), Cores: amount(props, "yarn.scheduler.minimum-allocation-vcores", 1)}
	y.maxPriority = amount(props, "yarn.cluster.max-application-priority", 0)
	y.cluster = identity(props, o.Client)
	if y.cpu, err = newSource(o.CPU, y); err != nil {
		return nil, err
	}
	y.note("idle processors: %s", y.cpu.describe())
	for _, q := range queues {
		if user := q.UserAMLimit.Memory; y.capacity() && user > 0 && user < q.AMLimit.Memory {
			y.note("AMs of one user may take %d MB and those of %s together %d MB: for a single user the former holds first", user, q.Path, q.AMLimit.Memory)
		}
	}
	if err := y.chooseActuator(props); err != nil {
		return nil, err
	}
	if _, ok := y.act.(*restActuator); ok {
		if set, err := y.c.SchedulerConf(ctx); err == nil { // needs more permissions than watching
			y.dominant = strings.HasSuffix(text(set, conf.Prefix+"resource-calculator", ""), ".DominantResourceCalculator")
		}
	}
	y.note("%s of %s: %s", y.limit.Property, strings.Join(y.paths, ", "), y.act.describe())
	if !y.capacity() && y.fair == nil {
		y.note("without the file, the share in force shows only while an application waits: until then it is not known")
	}
	return y, nil
}

// choose finds the queues to steer.
func (y *Yard) choose(root *rest.Queue) (queues []*rest.Queue, err error) {
	names := y.o.Queues
	if slices.Equal(names, []string{All}) {
		names = nil
		for _, q := range leaves(root) {
			if names = append(names, q.Path); lastPart(q.Path) == All {
				return nil, fmt.Errorf("all: there is a queue %s: give the whole names of the queues", q.Path)
			}
		}
		slices.Sort(names)
	}
	if len(names) == 0 {
		return nil, errors.New("name the queue")
	}
	for _, name := range names {
		q, err := findLeaf(root, name)
		if err != nil && y.o.Absent && (name == "root" || strings.HasPrefix(name, "root.")) { // gone, or no leaf any more: that is for Read to say
			q, err = &rest.Queue{Path: name}, nil
		}
		if err != nil {
			return nil, err
		}
		queues = append(queues, q)
		if !slices.Contains(y.order, q.Path) {
			y.order = append(y.order, q.Path)
		}
	}
	y.paths = slices.Sorted(slices.Values(y.order))
	return queues, nil
}

// Identity names the scheduler, by its cluster id or its own address, and the steered queues. It identifies a journal: Identities
// exclude other drivers.
func (y *Yard) Identity() string {
	const longest = 512
	names := strings.Join(y.paths, ",")
	if len(names) > longest {
		names = fmt.Sprintf("%d-%x", len(y.paths), sha256.Sum256([]byte(names)))
	}
	return y.cluster + "/" + names
}

// Identities name the scheduler and each steered queue, by name; where capacities are set, their parents too, since siblings share that knob.
func (y *Yard) Identities() (out []string) {
	for _, q := range y.paths {
		out = append(out, y.cluster+"/"+q)
		if y.o.Capacities {
			out = append(out, y.cluster+"/"+steer.Parent(q))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Queues are the full names of the steered queues, in the order given.
func (y *Yard) Queues() []string { return slices.Clone(y.order) }

// may reports whether a queue may be set.
func (y *Yard) may(queue string) bool {
	_, ok := slices.BinarySearch(y.paths, queue)
	return ok
}

// Limit is how the scheduler limits AMs.
func (y *Yard) Limit() amlimit.Limit { return y.limit }

func (y *Yard) capacity() bool { return y.limit == amlimit.Capacity }

// MinAllocation is the scheduler's minimum allocation.
func (y *Yard) MinAllocation() unit.Resources { return y.minAllocation }

// Notes are lines for an operator: the sources of data, and their caveats.
func (y *Yard) Notes() []string { return slices.Clone(y.notes) }

func (y *Yard) note(format string, args ...any) {
	y.notes = append(y.notes, fmt.Sprintf(format, args...))
}

// Knob is the first queue's AM share.
func (y *Yard) Knob() drive.Knob { return y.amShare(y.paths[0]) }

func (y *Yard) amShare(queue string) drive.Knob {
	return drive.Knob{Kind: setQueue, Queue: queue, Property: y.limit.Property}
}

// CanAct says why the AM shares cannot be changed, as far as that is known without changing them.
func (y *Yard) CanAct(ctx context.Context) error {
	for _, q := range y.paths {
		k := y.amShare(q)
		v, err := y.Read(ctx, k)
		if err != nil {
			return err
		}
		if v.Mark != "" {
			return fmt.Errorf("%v: %w (setting %s of the queue)", k, drive.MarkedError(v.Mark), markName)
		}
	}
	return y.act.check(ctx)
}

// chooseActuator finds the actuator that fits the scheduler.
func (y *Yard) chooseActuator(props *conf.Properties) error {
	kind := y.o.Actuator
	capacity := y.capacity()
	store := text(props, "yarn.scheduler.configuration.store.class", "file")
	if kind == "" || kind == Auto {
		switch {
		case !capacity:
			kind = FairFile
		case store != "file" && y.o.File == "":
			kind = REST
		default:
			kind = CapacityFile
		}
	}
	switch {
	case !slices.Contains(Actuators(), kind):
		return fmt.Errorf("there is no actuator %q: choose one of %s", kind, strings.Join(Actuators(), ", "))
	case capacity && kind == FairFile:
		return fmt.Errorf("actuator %s: the ResourceManager runs the CapacityScheduler: choose %s or %s", kind, REST, CapacityFile)
	case !capacity && kind != FairFile:
		return fmt.Errorf("actuator %s: the ResourceManager runs the FairScheduler: choose %s", kind, FairFile)
	case kind == REST && store == "file":
		y.act = noActuator{errors.New("the ResourceManager keeps its scheduler's settings in a file: give it with --file, or set yarn.scheduler.configuration.store.class")}
		return nil
	case kind == REST:
		y.act = &restActuator{y}
		return nil
	}
	file, named := y.o.File, ""
	if !capacity {
		named = text(props, "yarn.scheduler.fair.allocation.file", "")
	}
	switch {
	case file == "" && capacity:
		y.act = noActuator{errors.New("name the ResourceManager's capacity-scheduler.xml with --file")}
	case file == "" && filepath.IsAbs(named) && plainPath(named): // do not write a file on a server's word alone
		y.act = noActuator{fmt.Errorf("the ResourceManager names %s as its allocation file: if that is right, and a file of this machine, confirm it with --file %[1]s", named)}
	case file == "":
		y.act = noActuator{errors.New("name the ResourceManager's fair-scheduler.xml with --file")}
	case capacity && store != "file":
		return fmt.Errorf("actuator %s: the ResourceManager keeps its scheduler's settings in its %s store and does not read the file: choose %s", kind, store, REST)
	case capacity && len(y.o.Refresh) == 0:
		y.act = noActuator{errors.New("give the command that makes the ResourceManager read its file, such as yarn rmadmin -refreshQueues, with --refresh-command")}
	case capacity:
		y.act = &capacityFile{y: y, file: editedFile{path: file, kind: propertyFile}}
	default:
		if filepath.IsAbs(named) && !sameFile(named, file) {
			y.note("the ResourceManager names %q as its allocation file and --file is %s: unless they are the same file, changes have no effect", named, file)
		}
		y.fair = &fairFile{editedFile: editedFile{path: file, kind: allocationFile}}
		y.act = y.fair
	}
	return nil
}

// plainPath reports whether a path may be shown as part of a command, to be copied into a shell.
func plainPath(path string) bool {
	return len(path) <= 200 && !strings.ContainsFunc(path, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=:@,", r))
	})
}

// sameFile reports whether two paths lead to the same file, as far as this machine can know.
func sameFile(a, b string) bool {
	if x, err := filepath.Abs(b); err == nil && x == filepath.Clean(a) {
		return true
	}
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// findLeaf finds a leaf by its path, or by its last component if that is unambiguous.
func findLeaf(root *rest.Queue, name string) (*rest.Queue, error) {
	if name == "" {
		return nil, errors.New("name the queue")
	}
	var found []*rest.Queue
	var leaves []string
	for q := range tree(root) {
		if q.Path == name || q.Path == "root."+name || lastPart(q.Path) == name {
			found = append(found, q)
		}
		if q.Leaf() {
			leaves = append(leaves, q.Path)
		}
	}
	for _, q := range found {
		if q.Path == name || q.Path == "root."+name {
			found = []*rest.Queue{q}
			break
		}
	}
	switch {
	case len(found) == 0:
		const most = 10
		more := ""
		if len(leaves) > most {
			leaves, more = leaves[:most], ", ..."
		}
		return nil, gone("queue %s is not there: the queues are %s%s", name, strings.Join(leaves, ", "), more)
	case len(found) > 1:
		return nil, fmt.Errorf("queue %s: there are %s and %s: give the whole name", name, found[0].Path, found[1].Path)
	case !found[0].Leaf():
		return nil, fmt.Errorf("queue %s has queues inside it: AMs run in leaves, such as %s", found[0].Path, firstLeaf(found[0]))
	}
	return found[0], nil
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// tree is a queue and its descendants.
func tree(q *rest.Queue) iter.Seq[*rest.Queue] {
	return func(yield func(*rest.Queue) bool) { walk(q, yield) }
}

func walk(q *rest.Queue, yield func(*rest.Queue) bool) bool {
	return q == nil || yield(q) && !slices.ContainsFunc(q.Children, func(c *rest.Queue) bool { return !walk(c, yield) })
}

// leaves are those of a tree.
func leaves(root *rest.Queue) (out []*rest.Queue) {
	for q := range tree(root) {
		if q.Leaf() && q != root {
			out = append(out, q)
		}
	}
	return out
}

func firstLeaf(q *rest.Queue) string {
	for !q.Leaf() {
		q = q.Children[0]
	}
	return q.Path
}

func text(p *conf.Properties, name, otherwise string) string {
	if x := p.Get(name); x != nil && x.Value != "" {
		return x.Value
	}
	return otherwise
}

func amount(p *conf.Properties, name string, otherwise int64) int64 {
	n, err := strconv.ParseInt(text(p, name, ""), 10, 64)
	if err != nil || n <= 0 {
		return otherwise
	}
	return n
}

// versionOf is 303 for "3.3.6"; an unknown format counts as a new version.
func versionOf(s string) int {
	parts := strings.SplitN(s, ".", 3)
	if len(parts) < 2 {
		return 999
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	if err1 != nil || err2 != nil {
		return 999
	}
	return 100*major + minor
}

// identity is the same for every client: the cluster's name, or the ResourceManager's own address. Only if it has
// neither is it the address that it was reached under.
func identity(p *conf.Properties, c *rest.Client) string {
	if id := text(p, "yarn.resourcemanager.cluster-id", ""); id != "" && text(p, "yarn.resourcemanager.ha.enabled", "") == "true" {
		var hosts []string // installers give every cluster the same name
		for rm := range strings.SplitSeq(text(p, "yarn.resourcemanager.ha.rm-ids", ""), ",") {
			rm = strings.TrimSpace(rm)
			for _, name := range []string{"yarn.resourcemanager.webapp.address.", "yarn.resourcemanager.webapp.https.address.", "yarn.resourcemanager.hostname."} {
				if host := text(p, name+rm, ""); host != "" && !strings.Contains(host, "$") {
					hosts = append(hosts, strings.ToLower(host))
					break
				}
			}
		}
		slices.Sort(hosts)
		return "yarn:" + strings.Join(append([]string{id}, hosts...), ",")
	}
	for _, name := range []string{"yarn.resourcemanager.webapp.address", "yarn.resourcemanager.address"} {
		host, port, err := net.SplitHostPort(text(p, name, ""))
		if err == nil && port != "0" && host != "0.0.0.0" && host != "" && host != "::" && !strings.Contains(host, "$") {
			return "yarn:" + strings.ToLower(host) + ":" + port
		}
	}
	return "yarn:" + c.Address()
}

// census remembers how many nodes there are.
type census struct {
	known, away int64 // up, and lost or decommissioned, when all were accounted for
	last        int64
	since       time.Time // since when last is unchanged
}

// awayFor is how long nodes may be missing before they count as gone.
const awayFor = 30 * time.Second

// take says why the nodes that are up cannot be all: a ResourceManager that has just taken over shows an empty cluster at first.
func (n *census) take(m *rest.Metrics, now time.Time) error {
	if m.ActiveNodes != n.last {
		n.last, n.since = m.ActiveNodes, now
	}
	away := m.LostNodes + m.UnhealthyNodes + m.DecommissionedNodes + m.DecommissioningNodes + m.RebootedNodes + m.ShutdownNodes
	switch {
	case m.ActiveNodes <= 0:
		return errors.New("no node is up at the ResourceManager: has it just started or taken over?")
	case m.ActiveNodes >= n.known, n.known-m.ActiveNodes <= away-n.away, now.Sub(n.since) >= awayFor:
		n.known, n.away = m.ActiveNodes, away
		return nil
	}
	return fmt.Errorf("%d of %d nodes are up and the others are not accounted for: they may be coming back to a ResourceManager that has just started or taken over", m.ActiveNodes, n.known)
}
