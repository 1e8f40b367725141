package cli

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/policy/plan"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
)

// planFlags are the flags of plan beside those of a scenario.
type planFlags struct {
	settings   plan.Settings
	errors     plan.Errors
	model      string
	contended  string
	heavyInput string
	batch      bool
	limit      bool
	out, hints string
}

func newPlan(known *scenario.Catalogue) *cobra.Command {
	var (
		flags = scenarioFlags{known: known}
		p     planFlags
	)
	cmd := &cobra.Command{
		Use:   "plan [SCENARIO.yaml | DIR]",
		Short: "Plan in which racks recurring jobs run",
		Args:  flags.oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := flags.scenario(args)
			if err != nil {
				return err
			}
			return makePlan(cmd, s, &p)
		},
	}
	flags.add(cmd, func(t *scenario.Setting) bool {
		return t.In == "trace" || t.In == "" && !slices.Contains([]string{"scheduler", "place", "seeds", "set", "variant", "clock"}, t.Name) || t.Name == "network" || t.Name == "start-up"
	})
	fs := cmd.Flags()
	fs.StringVar(&p.settings.Planner, "planner", plan.JobPacker, "`PLANNER`: jobpacker (circuits for large shuffles) or corral (maps and reduces in the same racks)")
	fs.BoolVar(&p.batch, "batch", false, "plan for the makespan of jobs that are all there at the start, not for the completion times of jobs that arrive over time")
	fs.IntVar(&p.settings.Batches, "sub-batches", 5, "divide a batch into `N` parts of similar demand")
	fs.Float64Var(&p.settings.Over, "over-provision", 0, "extra containers for each job, as a `SHARE` of its tasks: for errors of the forecast, and for jobs outside the plan")
	fs.BoolVar(&p.settings.InOrder, "in-order", false, "let a rack run what is planned for it in the order of the plan, that of arrivals; by default smaller jobs go first")
	fs.StringVar(&p.model, "shuffle-model", string(plan.Disjoint), "`MODEL` of a shuffle whose racks are not known yet: disjoint, port-load or printed")
	fs.StringVar(&p.contended, "contended", "", "`RATE` of a rack's uplink to plan with, where others use it too (default: its own)")
	fs.StringVar(&p.heavyInput, "heavy-input", "", "input `SIZE` above which a job outside the plan is presumed to have a large shuffle (default 10^9 bytes)")
	fs.BoolVar(&p.limit, "limit-others", false, "keep jobs outside the plan in few racks too: an experiment, it makes all jobs slower")
	setGroup(fs, inPolicy, "planner", "batch", "sub-batches", "over-provision", "in-order", "shuffle-model", "contended", "heavy-input", "limit-others")
	fs.Float64Var(&p.errors.Recurring, "recurring", 1, "`SHARE` of jobs that recur, drawn at random: only they are planned")
	fs.Float64Var(&p.errors.Shuffle, "shuffle-error", 0, "relative error of predicted shuffle sizes, up or down (an experiment)")
	fs.Float64Var(&p.errors.Shifted, "shifted", 0, "`SHARE` of jobs whose predicted arrival is wrong (an experiment)")
	fs.Float64Var(&p.errors.Shift, "shift", 200, "max error of those arrivals, in `SECONDS`")
	setGroup(fs, inFlags, "recurring", "shuffle-error", "shifted", "shift")
	fs.StringVarP(&p.out, "out", "o", "", "write the plan to `FILE.json`: --scheduler FILE.json runs it")
	fs.StringVar(&p.hints, "hints", "", "write where the input of each job should lie to `FILE.tsv`: its racks and their nodes")
	setGroup(fs, inOutput, "out", "hints")
	return cmd
}

// check reads the flags that are text.
func (p *planFlags) check(c *plan.Cluster) (heavy float64, err error) {
	p.settings.Profile = plan.Model(p.model)
	switch {
	case !slices.Contains([]plan.Model{plan.Disjoint, plan.PortLoad, plan.Printed}, p.settings.Profile):
		return 0, misuse("", "--shuffle-model %s: want disjoint, port-load or printed", p.model)
	case p.settings.Planner != plan.JobPacker && p.settings.Planner != plan.Corral:
		return 0, misuse("", "--planner %s: want jobpacker or corral", p.settings.Planner)
	case p.settings.Batches < 1 || p.settings.Batches > 10_000:
		return 0, misuse("", "--sub-batches %d: want 1 to 10000", p.settings.Batches)
	case !(p.settings.Over >= 0 && p.settings.Over <= 100):
		return 0, misuse("", "--over-provision %v: want a number from 0 to 100", p.settings.Over)
	case !(p.errors.Recurring > 0 && p.errors.Recurring <= 1) || !(p.errors.Shifted >= 0 && p.errors.Shifted <= 1):
		return 0, misuse("", "--recurring %v, --shifted %v: shares are between 0 and 1, and some jobs must recur", p.errors.Recurring, p.errors.Shifted)
	case !(p.errors.Shuffle >= 0 && p.errors.Shuffle <= 1) || !(p.errors.Shift >= 0 && p.errors.Shift <= 1e6):
		return 0, misuse("", "--shuffle-error %v, --shift %v: want 0 to 1, and 0 to 1000000 seconds", p.errors.Shuffle, p.errors.Shift)
	}
	if p.contended != "" {
		if c.Contended, err = cluster.ParseRate(p.contended); err != nil {
			return 0, misuse("", "--contended: %v", err)
		}
	}
	if p.heavyInput == "" {
		return plan.HeavyInput, nil
	}
	size, err := unit.ParseBytes(p.heavyInput)
	if err != nil {
		return 0, misuse("", "--heavy-input: %v", err)
	}
	return float64(size), nil
}

func makePlan(cmd *cobra.Command, s scenario.Scenario, p *planFlags) error {
	s.Schedulers = []string{"fifo"} // a scenario has one; this one plays none
	setup, err := resolve(s)
	if err != nil {
		return err
	}
	jobs, err := setup.Workload.Read(s.Seed)
	if err != nil {
		return err
	}
	var ask unit.Resources // the largest container: a plan counts containers of one size
	for _, j := range jobs {
		for i := range j.Stages {
			ask = ask.Max(j.Stages[i].Ask)
		}
	}
	if setup.Cluster.Slots || ask.IsZero() {
		return errors.New("a plan needs tasks that ask for containers, and a cluster without fixed slots")
	}
	c := plan.Of(setup.Cluster, ask)
	heavy, err := p.check(&c)
	if err != nil {
		return err
	}
	files, err := prepareAll(cmd.Context(), [2]string{"out", p.out}, [2]string{"hints", p.hints})
	if err != nil {
		return err
	}
	defer files.discard()
	p.settings.Online, p.settings.Seed, p.errors.Seed = !p.batch, s.Seed, s.Seed
	forecast := plan.Forecast(jobs, s.Model.StartUp, p.errors)
	if len(forecast) == 0 {
		return errors.New("no job can be planned: only MapReduce jobs can, with one stage of maps and at most one of reduces")
	}
	made, err := plan.New(cmd.Context(), c, forecast, p.settings)
	if err != nil {
		return err
	}
	if made.AdHoc.HeavyInput = heavy; p.limit {
		made.LimitAdHoc()
	}
	w := cmd.OutOrStdout()
	say(w, fmt.Sprintf("%s on %s, by %s: %s of %s planned", setup.Workload.Title, setup.Cluster, made.Settings.Planner, count(int64(len(made.Jobs))), unit.Count(int64(len(jobs)), "job")))
	showPlan(w, made)
	err = errors.Join(files["out"].write(made.Write), files["hints"].write(func(w io.Writer) error { return writeHints(w, made, setup.Cluster) }))
	if err != nil {
		return err
	}
	if p.out != "" {
		say(w, "The plan is in "+p.out+": run it with --scheduler "+p.out)
	}
	return nil
}

// littleLoad is the load of uplinks below which there is little to spare: the studies have a mean shorter by a few percent at 0.05 to 0.1, and by 12 to 58 % from 0.3 on.
const littleLoad = 0.2

// shownJobs is the number of planned jobs that are shown, those with the largest shuffles.
const shownJobs = 20

func showPlan(w io.Writer, p *plan.Plan) {
	heavy, all, over := 0, 0.0, 0.0
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if all += j.Shuffle; j.Heavy {
			heavy++
			over += j.Shuffle
		}
	}
	t := term.Table{Left: 2}
	t.Add("planned to end", "after "+unit.FormatSeconds(p.Makespan))
	if p.Cluster.Circuit > 0 && p.Settings.Planner == plan.JobPacker {
		t.Add("over circuits", fmt.Sprintf("%s with a shuffle of %s or more, %.0f %% of the shuffled bytes", unit.Count(int64(heavy), "job"), unit.Bytes(p.Cluster.Elephant), 100*over/max(all, 1)))
	}
	load, networked := p.UplinkLoad()
	if networked {
		t.Add("uplinks", fmt.Sprintf("%.0f %% loaded by all shuffles, if these are spread over the racks and take the time of the plan", 100*load))
	}
	fmt.Fprint(w, draw(t))
	if networked && load < littleLoad {
		say(w, "The uplinks have little to do, so a plan has little to gain: use fair, unless a comparison of both says otherwise.")
	}
	jobs := slices.Clone(p.Jobs)
	slices.SortStableFunc(jobs, func(a, b plan.Placed) int { return cmp.Compare(b.Shuffle, a.Shuffle) })
	fmt.Fprintln(w)
	racks := func(list []int32) string { return cmp.Or(unit.Ranges(list, "-", ","), "-") }
	t = term.Table{Head: []string{"job", "maps", "reduces", "shuffle", "start", "end", "racks of maps", "racks of reduces"}}
	for _, j := range jobs[:min(len(jobs), shownJobs)] {
		t.Add(j.ID, count(j.Maps), count(j.Reduces), unit.Bytes(j.Shuffle).String(), unit.FormatSeconds(j.Start), unit.FormatSeconds(j.Finish), racks(j.MapRacks), racks(j.ReduceRacks))
	}
	fmt.Fprint(w, draw(t))
	if more := len(jobs) - shownJobs; more > 0 {
		fmt.Fprintf(w, "and %s with smaller shuffles\n", unit.Count(int64(more), "job"))
	}
}

// writeHints writes where the input of planned jobs should lie: the racks of their maps, and the nodes in them. An upload passes the nodes to HDFS, which
// takes the nodes that a client prefers for a new file (DistributedFileSystem.create).
func writeHints(w io.Writer, p *plan.Plan, c *cluster.Cluster) error {
	nodes := make([][]string, len(c.Racks))
	for i := range c.Nodes {
		nodes[c.Nodes[i].Rack] = append(nodes[c.Nodes[i].Rack], c.Nodes[i].Name)
	}
	out := csv.NewWriter(w)
	out.Comma = '\t'
	if err := out.Write([]string{"job", "racks", "nodes"}); err != nil {
		return err
	}
	for i := range p.Jobs {
		var names, its []string
		for _, r := range p.Jobs[i].MapRacks {
			names, its = append(names, c.Racks[r]), append(its, nodes[r]...)
		}
		if err := out.Write([]string{p.Jobs[i].ID, strings.Join(names, ","), strings.Join(its, ",")}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
