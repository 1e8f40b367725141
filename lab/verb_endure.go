package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/yardmaster/yardmaster/lab/endure"
)

func init() {
	verbs = append(verbs, verb{"endure", "kill, lie to and overload a steerer of real daemons, and look what it leaves", endureVerb})
}

func endureVerb(ctx context.Context, args []string, out io.Writer) error {
	f := flags("endure", "Runs the command `yarn steer --act` on real daemons and lets it be killed, lose its ResourceManager, be lied to and be refused; writes what came\n"+
		"of it. With --offline it takes the records that are kept. Parts: "+strings.Join(endure.Parts(), ", ")+".")
	s := endure.Study{Log: out, Apps: []int{100, 1000, 10000}}
	f.IntVar(&s.Kills, "kills", 200, "of the steerer, over both schedulers")
	f.IntVar(&s.Restarts, "restarts", 5, "of the ResourceManager")
	f.IntVar(&s.Failovers, "failovers", 5, "from one ResourceManager to the other")
	f.IntVar(&s.Nodes, "nodes", 500, "of the large cluster")
	f.Uint64Var(&s.Seed, "seed", 1, "of the moments at which blows fall")
	only := f.String("only", "", "`parts`, with commas between (default: all)")
	f.StringVar(&s.Dir, "out", filepath.Join("docs", "studies", "endure"), "`folder` of the records")
	page := f.String("page", "", "`file` of the page (default: endurance.md beside the folder)")
	f.StringVar(&s.Work, "work", "", "`folder` of the daemons, which stays (default: a temporary one)")
	f.StringVar(&s.Binary, "binary", "", "yardmaster's own `file` (default: it is built)")
	f.BoolVar(&s.Brief, "brief", false, "fewer lies and fewer looks, as in CI")
	offline := f.Bool("offline", false, "take the records")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *only != "" {
		s.Only = strings.Split(*only, ",")
	}
	if *page == "" {
		*page = filepath.Join(filepath.Dir(filepath.Clean(s.Dir)), "endurance.md")
	}
	if !*offline {
		if err := s.Run(ctx); err != nil {
			return err
		}
	}
	text, err := endure.Report(s.Dir, *page)
	if err != nil {
		return err
	}
	misses, err := endure.Misses(s.Dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\nwritten to %s\n", text, *page)
	if len(misses) > 0 {
		return fmt.Errorf("%d things did not hold: see %s", len(misses), *page)
	}
	return nil
}
