package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/whatif/tune"
)

// sweepFlags are the flags of sweep beside those of a scenario.
type sweepFlags struct {
	aimFlags
	random int
	shard  string
	merge  bool
	out    string
}

func newSweep(known *scenario.Catalogue) *cobra.Command {
	var (
		flags = scenarioFlags{known: known}
		own   sweepFlags
	)
	cmd := &cobra.Command{
		Use:   "sweep [SCENARIO.yaml | DIR] | --merge FILE.jsonl... | --merge DIR",
		Short: "Run a design of scheduler settings, whole or in shards",
		Args: func(cmd *cobra.Command, args []string) error {
			if own.merge && len(args) > 0 {
				return nil
			}
			return flags.oneScenario(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := own.read(); err != nil {
				return err
			}
			if own.merge {
				return mergeSweep(cmd, args, &own)
			}
			s, err := flags.scenario(args)
			if err != nil {
				return err
			}
			return runSweep(cmd, s, &own)
		},
	}
	flags.add(cmd, func(t *scenario.Setting) bool { return t.Name != "seeds" && t.Name != "variant" })
	own.add(cmd)
	fs := cmd.Flags()
	fs.IntVar(&own.random, "random", 0, "draw `N` points at random with --seed, instead of every combination of values")
	fs.StringVar(&own.shard, "shard", "1/1", "run only part `I/N` of the points, I counted from 1 or from 0: 0/N and N/N are the same part")
	fs.BoolVar(&own.merge, "merge", false, "join the files of all shards, or those in DIR; the result is that of an unsharded sweep, byte for byte")
	setGroup(fs, inPolicy, "random", "shard", "merge")
	fs.StringVarP(&own.out, "out", "o", "", "write the points to `FILE.jsonl` (default: standard output, without the table)")
	setGroup(fs, inOutput, "out")
	return cmd
}

// parseShard reads I/N. Some engines count their tasks from 1, others from 0.
func parseShard(text string) (shard, of int, err error) {
	i, n, _ := strings.Cut(text, "/")
	shard, err = strconv.Atoi(i)
	of, errOf := strconv.Atoi(n)
	if err != nil || errOf != nil || of < 1 || shard < 0 || shard > of {
		return 0, 0, misuse("", "--shard %s: want I/N, such as 1/4, with I from 1 to N, or from 0 to N-1", text)
	}
	return (shard - 1 + of) % of, of, nil
}

func runSweep(cmd *cobra.Command, s scenario.Scenario, own *sweepFlags) error {
	shard, of, err := parseShard(own.shard)
	if err != nil {
		return err
	}
	if own.random < 0 {
		return misuse("", "--random %d: want 1 or more", own.random)
	}
	_, _, space, err := own.space(&s)
	if err != nil {
		return err
	}
	d := &tune.Design{Space: space, Random: own.random, Seed: s.Seed}
	points, err := d.Points()
	if err != nil {
		return misuse("", "--over: %v", err)
	}
	setup, err := resolve(s)
	if err != nil {
		return err
	}
	part, err := tune.Whole(setup)
	if err != nil {
		return err
	}
	inputs, err := s.Inputs()
	if err != nil {
		return err
	}
	files, err := prepareAll(cmd.Context(), [2]string{"out", own.out})
	if err != nil {
		return err
	}
	defer files.discard()
	command := s.Command("sweep") + typedAgain(cmd, "over", "random")
	head := tune.Header{Tool: "yardmaster", Version: build.Version(), Command: command, Inputs: inputs, Points: points}
	line := term.NewProgress(os.Stderr, "sweeping")
	return own.write(cmd, files["out"], func(w io.Writer) ([]tune.Row, error) {
		defer line.End()
		return tune.Sweep(cmd.Context(), d, part, head, shard, of, 0, w, func(done float64) { line.Set(done, "") })
	})
}

// write writes the points to the file, or to standard output; with a file, the best points are shown.
func (f *sweepFlags) write(cmd *cobra.Command, to *outFile, produce func(io.Writer) ([]tune.Row, error)) error {
	if to == nil {
		_, err := produce(cmd.OutOrStdout())
		return err
	}
	var rows []tune.Row
	err := to.write(func(w io.Writer) (err error) {
		rows, err = produce(w)
		return err
	})
	if err == nil {
		f.showBest(cmd.OutOrStdout(), rows)
	}
	return err
}

// shownPoints is the number of points in the table of the best, and in that of those that break a bound.
const shownPoints = 10

func (f *sweepFlags) showBest(w io.Writer, rows []tune.Row) {
	say(w, fmt.Sprintf("%s points are in %s", count(int64(len(rows))), f.out))
	if f.goal == "" {
		return
	}
	best := tune.Rank(rows, &f.aim)
	if best == nil {
		say(w, "The present settings are in shard 1: merge all shards to see the best points.")
		return
	}
	kept := slices.IndexFunc(best, func(r tune.Ranked) bool { return r.Broken != "" })
	if kept < 0 {
		kept = len(best)
	}
	say(w, fmt.Sprintf("Change of %s; %s points keep every bound.", f.goal, count(int64(kept))))
	t := term.Table{Head: []string{"point", "change", "settings"}, Left: 3}
	broken := term.Table{Head: []string{"point", "change", "why not", "settings"}, Left: 4}
	for _, r := range best[:min(kept, shownPoints)] {
		t.Add(strconv.Itoa(r.Point), changeOf(r), settingsOf(r))
	}
	fmt.Fprint(w, draw(t))
	if kept == len(best) {
		return
	}
	fmt.Fprintln(w)
	say(w, fmt.Sprintf("%s points break a bound or are not valid:", count(int64(len(best)-kept))))
	for _, r := range best[kept:min(len(best), kept+shownPoints)] {
		broken.Add(strconv.Itoa(r.Point), changeOf(r), r.Broken, settingsOf(r))
	}
	fmt.Fprint(w, draw(broken))
}

func changeOf(r tune.Ranked) string {
	if math.IsInf(r.Change, 0) {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100*r.Change)
}

func settingsOf(r tune.Ranked) string {
	if len(r.Changes) == 0 && r.Error == "" {
		return "the present settings"
	}
	return strings.Join(r.Changes, " ")
}

// shards are the files in a folder that others may write to.
func shards(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // what cannot be read is missing then
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".jsonl" {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names
}

func openShared(path string) (*os.File, error) { return securefile.OpenRegular(path, os.O_RDONLY, 0) }

func mergeSweep(cmd *cobra.Command, paths []string, own *sweepFlags) error {
	if len(own.over) > 0 || own.random != 0 || own.shard != "1/1" {
		return misuse("Leave out --over, --random and --shard.", "--merge joins what other commands have run")
	}
	readers := map[string]io.Reader{}
	for _, path := range paths {
		names, open := []string{path}, os.Open
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			if names, open = shards(path), openShared; len(names) == 0 {
				return fmt.Errorf("there is no .jsonl file in %s: name the folder of the shards' files", path)
			}
		}
		for _, name := range names {
			f, err := open(name)
			if err != nil {
				return err
			}
			defer f.Close()
			if readers[name] != nil || name == own.out {
				return fmt.Errorf("%s is named twice: name the file of each shard once, and another one with --out", name)
			}
			readers[name] = f
		}
	}
	to, err := prepareAll(cmd.Context(), [2]string{"out", own.out})
	if err != nil {
		return err
	}
	defer to.discard()
	return own.write(cmd, to["out"], func(w io.Writer) ([]tune.Row, error) { return tune.Merge(readers, w) })
}
