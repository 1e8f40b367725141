package nas

import (
	"errors"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/shuffle"
	"github.com/yardmaster/yardmaster/unit"
)

// Entry registers the policy.
var Entry = policy.Entry{
	Name:  "nas",
	Title: "network-aware: bounded map output per node, reduces near their data, heavy shuffles held back where uplinks are congested",
	Params: map[string]string{
		"parts":       "all (default), mts+ca (ignore congestion; needs no network), mts (reduces in fair order), or for comparison delay (maps wait for locality only) or fair",
		"threshold":   "traffic threshold of a node: auto (default), none or a size",
		"slowstart":   "adaptive (default) or fixed (tmin for all jobs)",
		"tmin":        "share of its maps that the largest job needs done before its reduces start (default 0.2)",
		"tmax":        "the same for the smallest job (default 0.5)",
		"congested":   "load of a rack's uplink from which it is congested (default 0.8)",
		"skip":        "offers that a user may skip for a local, qualified map (default 135), or how long it waits for one (5s)",
		"reduce-skip": "the same for reduces in a congested rack (default: as skip)",
		"reset":       "any: after the start of any map its user may have to wait again (default local: only after one with input on its node)",
		"gate":        "maps that do not start in congested racks: no (default: all start), known (of jobs predicted to be medium or heavy), all (also of unpredicted ones) or soft (as known, but no longer than skip says)",
		"first":       "where maps and reduces wait: fair (default: whose user holds fewer containers, and of one user whose job does), or reduces",
		"capped":      "job (default): a job has no more reduces than running maps until its last map has started; all: reduces hold at most a share (cap) of the cluster while maps wait",
		"cap":         "the share of capped=all (default 0.5); given alone it is that of capped=all",
		"heartbeat":   "interval over which the load of uplinks is averaged (default 1s)",
		"unfetched":   "yes: output of finished maps counts against the threshold until reduces fetch it (default no)",
		"light":       "jobs that shuffle less are light (default 1MB)",
		"heavy":       "jobs that shuffle more are heavy (default 100MB)",
		"small":       "jobs that read less have a small input (default 10MB)",
		"ratios":      "class:ratio;class:ratio known ratios of map output to input, by class of application",
		"learn":       "yes: the ratio of a finished job is assumed for later ones of its class (default no)",
	},
	New: New,
}

type settings struct {
	mts, ca, cr     bool
	delays          bool // maps wait for locality
	gate, soft      bool // in a congested rack only light jobs start maps; soft: within the bound of skips
	fair            bool // maps and reduces go by what is held
	resets          bool // any start of a map resets its user's wait
	adaptive        bool
	tmin, tmax      float64
	skip, forReduce shuffle.Bound
}

// New builds the policy.
func New(p policy.Params) (policy.Policy, error) {
	o := &Order{}
	links, err := o.read(p)
	if err != nil {
		return policy.Policy{}, err
	}
	made := policy.Policy{Order: o, Place: place{o}, ByNode: true, Choose: o.Choose}
	if o.set.cr {
		o.links = links
		made.Place, made.Timer = networked{place{o}}, links
	}
	return made, nil
}

// read reads the parameters.
func (o *Order) read(p policy.Params) (links *shuffle.Links, err error) {
	r := policy.Reader{Params: p}
	parts := r.Choice("parts", "all", "mts+ca", "mts", "delay", "fair")
	s := &o.set
	s.cr, s.ca = parts == "all", parts == "all" || parts == "mts+ca"
	s.mts, s.delays = s.ca || parts == "mts", parts != "fair"
	s.adaptive = s.ca && r.Choice("slowstart", "adaptive", "fixed") == "adaptive"
	gate := r.Choice("gate", "no", "known", "all", "soft")
	s.gate, s.soft, o.Unpredicted = gate == "known" || gate == "all", gate == "soft", gate != "all"
	s.fair, s.resets = r.Choice("first", "fair", "reduces") == "fair", r.Second("reset", "local", "any")
	o.Caps(&r)
	s.tmin, s.tmax = r.Share("tmin", 0.2), r.Share("tmax", 0.5)
	s.skip = shuffle.ReadBound(&r, "skip", shuffle.Bound{Skips: 135})
	s.forReduce = shuffle.ReadBound(&r, "reduce-skip", s.skip)
	o.Unfetched, o.Learn = r.Second("unfetched", "no", "yes"), r.Second("learn", "no", "yes")
	b := shuffle.DefaultBounds()
	o.Bounds = shuffle.Bounds{Light: r.Bytes("light", b.Light), Heavy: r.Bytes("heavy", b.Heavy), Small: r.Bytes("small", b.Small)}
	switch p["threshold"] {
	case "", "auto":
	case "none":
		o.Fix(math.Inf(1))
	default:
		o.Fix(r.Bytes("threshold", 0))
	}
	for _, class := range r.Table("ratios", 0, "sort:1;grep:0.01") {
		if o.Ratios == nil {
			o.Ratios = map[string]float64{}
		}
		o.Ratios[class.Name] = class.Value
	}
	links = &shuffle.Links{Period: r.Time("heartbeat", unit.Second), Threshold: r.Share("congested", 0.8)}
	switch {
	case r.Err != nil:
		return nil, r.Err
	case links.Threshold == 0:
		return nil, errors.New("congested=0: no map of a job that shuffles would ever start")
	case s.tmin > s.tmax:
		return nil, fmt.Errorf("tmin=%v is above tmax=%v", s.tmin, s.tmax)
	case o.Bounds.Light > o.Bounds.Heavy:
		return nil, fmt.Errorf("light=%v is above heavy=%v", unit.Bytes(o.Bounds.Light), unit.Bytes(o.Bounds.Heavy))
	}
	return links, nil
}
