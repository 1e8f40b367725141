package endure

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop/secure"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
)

// Secured is one run against a ResourceManager under Kerberos.
type Secured struct {
	Case  string `json:"case"`
	As    string `json:"as"`      // principal
	Value string `json:"value"`   // configured while it steered
	Back  int64  `json:"back_ms"` // until restored
	By    string `json:"by"`
	Line  string `json:"line,omitempty"` // its message on refusal
	Miss  string `json:"miss,omitempty"`
}

// kerberos steers a secured ResourceManager with a keytab, ends the steerer with SIGTERM, with kill -9, and together with its guard, and tries
// an account without permission.
func (s *Study) kerberos(ctx context.Context, t *sheet) error {
	dir, err := s.folder("kerberos")
	if err != nil {
		return err
	}
	lab, err := secure.Up(ctx, filepath.Join(dir, "run"), nil)
	if err != nil {
		return err
	}
	defer func() { _ = lab.Down() }()
	auth, err := lab.Auth("admin")
	if err != nil {
		return err
	}
	defer auth.Close()
	login := func(who string) []string {
		return []string{"--keytab", lab.KDC.Keytab(who), "--principal", who, "--krb5-conf", lab.KDC.Config()}
	}
	secured := &yard{Cluster: lab.Cluster, queue: "root.batch", address: lab.RM, login: login("admin"), journal: filepath.Join(dir, "journal")}
	y, err := secured.readOriginal(ctx, auth, "")
	if err != nil {
		return err
	}
	set := y.set
	for _, c := range []string{"SIGTERM", "kill -9", "kill -9, the guard too"} {
		row := Secured{Case: c, As: "admin", Back: -1}
		p, err := y.steer(s.bin, "", nil, still(0.3)...)
		if err != nil {
			return err
		}
		if !p.Await(ctx, 30*time.Second, 0, "taken") {
			row.Miss = "nothing was changed: " + p.Last()
		}
		row.Value, _ = set.read(ctx)
		guards := p.Guards()
		fell := time.Now()
		switch c {
		case "SIGTERM":
			row.By = "itself"
			if _, ok := p.Stop(30 * time.Second); !ok {
				row.Miss = "it does not end"
			}
		case "kill -9":
			row.By = "guard"
			p.End()
		default:
			row.By = "restore"
			p.End(guards...)
			if err := y.restore(ctx, s.bin); err != nil {
				row.Miss = err.Error()
			}
		}
		if !proc.Await(ctx, restoreTimeout, 20*time.Millisecond, func() bool { return set.original(ctx) && set.obeyed(ctx) }) {
			row.Miss = "not put back: " + p.Last()
		}
		row.Back = time.Since(fell).Milliseconds()
		proc.Await(ctx, 30*time.Second, 10*time.Millisecond, func() bool { return proc.Gone(guards...) })
		row.Miss = cmp.Or(row.Miss, openJournal(y.journal))
		s.say("%s: %s, back after %d ms %s", c, row.Value, row.Back, row.Miss)
		t.add(&row, row.Miss, "%s", row.Case)
	}
	row := Secured{Case: "no permission", As: "alice", Back: -1}
	y.login = login("alice")
	p, err := y.steer(s.bin, "", nil, still(0.3)...)
	if err != nil {
		return err
	}
	proc.Await(ctx, 10*time.Second, 50*time.Millisecond, func() bool { return !p.Alive() || p.Count("refused") > 0 })
	row.Line = cmp.Or(firstReport(p.Lines()), p.Last())
	p.Stop(20 * time.Second)
	if row.Value, _ = set.read(ctx); row.Value != set.configured {
		row.Miss = "it was changed"
	}
	t.add(&row, row.Miss, "%s", row.Case)
	return nil
}
