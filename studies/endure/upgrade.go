package endure

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
)

// Upgrade is one change of the version that steers.
type Upgrade struct {
	N        int    `json:"n"`
	From     string `json:"from"` // commits
	To       string `json:"to"`
	How      string `json:"how"`             // the former one ended
	Refused  string `json:"refused"`         // what the next one said while the former one steered
	Stopped  int64  `json:"stopped_ms"`      // until the former one had ended
	Open     int    `json:"open"`            // knobs in the journal then
	Entries  int    `json:"entries"`         // of the journal then
	Original bool   `json:"original"`        // the configuration was as found then
	First    int64  `json:"first_ms"`        // until the next one's first change, from its start
	Restored bool   `json:"restored"`        // it restored first
	Found    string `json:"found,omitempty"` // what it took for the original value
	Miss     string `json:"miss,omitempty"`
}

// upgrades changes the version to and fro under one journal: it ends the steerer in one of three ways and starts the other version.
func (s *Study) upgrades(ctx context.Context, t *sheet) error {
	bins, versions := []string{s.bin, s.bin}, []string{s.program, s.program}
	if s.Old != "" {
		b, err := buildinfo.ReadFile(s.Old)
		if err != nil {
			return err
		}
		bins[0], versions[0] = s.Old, "commit "+build.From(b).Revision
	}
	y, err := s.open(ctx, "upgrades", queue, hadoop.Options{ConfStore: "fs"})
	if err != nil {
		return err
	}
	defer func() { _ = y.Down() }()
	l := &load{c: y.Cluster, queue: queue, apps: 24, hold: 5000}
	if err := l.begin(ctx, y.rm); err != nil {
		return err
	}
	defer l.cancel()
	start := func(i int) (*steerer.Process, error) { return y.steer(bins[i%2], "", nil, lively("300ms")...) }
	p, err := start(0)
	if err != nil {
		return err
	}
	defer func() { p.End() }()
	for i := range s.Upgrades {
		u := &Upgrade{N: i + 1, From: versions[i%2], To: versions[(i+1)%2]}
		if !p.Await(ctx, 2*time.Minute, 2, "taken") {
			u.Miss = "the former one has changed nothing: " + p.Last()
		}
		early, err := start(i + 1) // somebody starts the new one too early
		if err != nil {
			return err
		}
		if !proc.Await(ctx, time.Minute, 20*time.Millisecond, func() bool { return !early.Alive() }) {
			u.Miss = "both steer"
		}
		early.End()
		u.Refused = strings.ReplaceAll(early.Last(), s.work, "WORK") // the records are published
		before, _, _ := live.ReadJournal(y.journal)
		guards, fell := p.Guards(), time.Now()
		switch i % 3 {
		case 0:
			u.How = "SIGTERM"
			p.Stop(time.Minute)
		case 1:
			u.How = "kill -9 with its guard"
			p.End(guards...)
		case 2:
			u.How = "kill -9"
			p.End()
		}
		u.Stopped = time.Since(fell).Milliseconds()
		entries, open, err := live.ReadJournal(y.journal)
		u.Entries, u.Open, u.Original = len(entries), len(open), y.set.original(ctx)
		if err != nil || u.Entries < len(before) || i%3 == 0 && (!u.Original || u.Open > 0) {
			u.Miss = fmt.Sprintf("the journal had %d entries; or the configuration is not as found, which a steerer that is asked to end ensures (%v)", len(before), err)
		}
		began := time.Now()
		if p, err = start(i + 1); err != nil {
			return err
		}
		if !p.Await(ctx, 2*time.Minute, 0, "taken") {
			u.Miss = "the next one has changed nothing: " + p.Last()
		}
		u.First, u.Restored = time.Since(began).Milliseconds(), p.Count("restored") > 0
		for _, line := range p.Lines() {
			if line.Kind() == "asked" {
				u.Found = line.Field("original")
			}
		}
		if u.Found != "unset (0.1)" {
			u.Miss = "the next one takes another value for the original: " + u.Found
		}
		t.add(u, u.Miss, "upgrade %d (%s)", u.N, u.How)
		s.say("upgrade %d (%s): ended after %d ms, %d open, next change after %d ms %s", u.N, u.How, u.Stopped, u.Open, u.First, u.Miss)
	}
	t.ends(ctx, y, p, "upgrades")
	t.Sum.Apps, err = y.leave(ctx, l, &t.Sum, "upgrades")
	return err
}
