package levels

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/policy/sizes"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// steerer is each of the policies. Levels are numbered from 0.
type steerer struct {
	name     string
	interval unit.Time
	levels   int
	queues   []string // by level
	intake   string   // "": new jobs come to the first level
	limits   []unit.Time
	demotes  bool                     // by attained service
	place    func(size unit.Time) int // nil: a job starts in the first level
	learned  *sizes.Regression        // nil: sizes are tags
	departed *sizes.Departures        // nil: not compared

	now  unit.Time // of the last sample
	jobs map[string]*job
	said []slog.Attr
}

// job is what is remembered of a job.
type job struct {
	level int       // as last seen
	asked int       // asked for
	first int       // by its size; or where it was found
	moved bool      // by somebody else
	tries int       // moves that were asked for and have not shown
	due   unit.Time // no move before
	seen  unit.Time
	why   string // it is placed there

	input unit.Bytes // by its tag
	valid bool       // it has such a tag
}

const (
	atIntake  = -1
	elsewhere = -2 // not in a steered queue

	// showsWithin is how long a move may take to show: a sampler may list many waiting jobs only so often.
	showsWithin = 30 * unit.Second
	// forgotten is how long a job is remembered that is neither listed nor reported as finished.
	forgotten = 10 * unit.Minute
)

var (
	_ steer.Explainer = (*steerer)(nil)
	_ steer.Describer = (*steerer)(nil)
	_ steer.Corrector = (*steerer)(nil)
)

// Step implements steer.Steerer.
func (l *steerer) Step(seen *steer.Snapshot) (do []steer.Action, again unit.Time) {
	l.now = seen.Now
	l.learn(seen.Finished)
	var rest rest
	count := make([]int, l.levels+1)
	for i := range seen.Jobs {
		sj := &seen.Jobs[i]
		at := l.levelOf(sj.Queue)
		if at == elsewhere {
			delete(l.jobs, sj.ID)
			continue
		}
		j := l.track(sj, at)
		if count[at-atIntake]++; j.moved {
			rest.moved++
			continue
		}
		to, why := max(j.first, 0), j.why
		if attained := unit.FromSeconds(float64(sj.Service.CoreSeconds)); l.demotes {
			if k := sizes.Level(attained, l.limits); k > to {
				to, why = k, fmt.Sprintf("it has attained %.0f vcore-seconds of %.0f", attained.Seconds(), l.limits[k-1].Seconds())
			}
		}
		switch {
		case to <= at:
		case l.now < j.due:
			rest.late++
		case len(do) == steer.MovesPerSample:
			rest.more++
		default:
			j.asked, j.due = to, l.now+steer.Backoff(showsWithin, j.tries)
			j.tries++
			do = append(do, steer.Action{Kind: steer.MoveJob, Job: sj.ID, Queue: l.queues[to], Why: fmt.Sprintf("level %d: %s", to+1, why)})
		}
	}
	for id, j := range l.jobs {
		if l.now-j.seen > forgotten {
			delete(l.jobs, id)
		}
	}
	l.explain(do, count, rest)
	return do, l.interval
}

// levelOf is a queue's level.
func (l *steerer) levelOf(queue string) int {
	if l.intake != "" && steer.SamePath(queue, l.intake) {
		return atIntake
	}
	if k := slices.IndexFunc(l.queues, func(q string) bool { return steer.SamePath(q, queue) }); k >= 0 {
		return k
	}
	return elsewhere
}

// track updates what is remembered of a job. One that is seen for the first time in the queue for new jobs is placed.
func (l *steerer) track(sj *steer.Job, at int) *job {
	j := l.jobs[sj.ID]
	if j == nil {
		j = &job{level: at, asked: at, first: at, why: "it is new"}
		if l.place != nil && (at == atIntake || at == 0 && l.intake == "") {
			l.choose(sj, j)
		}
		l.jobs[sj.ID] = j
	}
	j.seen = l.now
	switch {
	case at == j.level:
	case at > j.level && at <= j.asked: // an earlier request may have been carried out late
		j.level, j.tries, j.due = at, 0, 0
	default:
		j.level, j.moved = at, true
	}
	return j
}

// choose places a job by its size.
func (l *steerer) choose(sj *steer.Job, j *job) {
	key, source := "size:", "its tag"
	if l.learned != nil {
		key, source = "input:", "its input"
	}
	x, ok := number(sj.Tags, key)
	if j.valid = ok; !ok {
		j.first, j.why = l.place(unit.Never), "its size is unknown: it has no valid tag "+key
		return
	}
	size := unit.FromSeconds(x)
	if l.learned != nil {
		j.input = unit.Bytes(x)
		size = l.learned.Predict(sj.User, j.input)
	}
	j.first, j.why = l.place(size), fmt.Sprintf("its size is %v vcore-seconds, by %s", math.Round(10*size.Seconds())/10, source)
}

// number is the value of the only tag that begins with key.
func number(tags, key string) (x float64, ok bool) {
	const maxLen, maxValue = 32, 1e15
	n := 0
	for tag := range strings.SplitSeq(tags, ",") {
		if value, is := strings.CutPrefix(strings.TrimSpace(tag), key); is {
			v, err := strconv.ParseFloat(value, 64)
			n, x, ok = n+1, v, err == nil && len(value) <= maxLen && v >= 0 && v <= maxValue // not NaN
		}
	}
	return x, ok && n == 1
}

// learn takes the sizes of jobs that have succeeded.
func (l *steerer) learn(finished []steer.Finished) {
	for i := range finished {
		f := &finished[i]
		j := l.jobs[f.ID]
		delete(l.jobs, f.ID)
		if f.Status != "SUCCEEDED" || l.levelOf(f.Queue) == elsewhere {
			continue
		}
		size := unit.FromSeconds(float64(f.Service.CoreSeconds))
		if l.departed != nil {
			l.departed.Add(size)
		}
		if l.learned != nil && j != nil && j.valid {
			l.learned.Learn(f.User, j.input, size)
		}
	}
}

// NotMade implements steer.Corrector: a refused move is retried with backoff, up to an hour.
func (l *steerer) NotMade(a steer.Action) {
	if j := l.jobs[a.Job]; j != nil && a.Kind == steer.MoveJob {
		j.due = l.now + steer.Backoff(l.interval, j.tries)
	}
}

// rest counts the jobs that a step leaves where they are, although they belong elsewhere or are not the policy's any more.
type rest struct {
	moved int // by somebody else
	late  int // a move was refused or has not shown: it is retried later
	more  int // than a sample moves
}

// explain describes a step. Jobs are counted by level, the intake first.
func (l *steerer) explain(do []steer.Action, count []int, rest rest) {
	const named = 3
	if l.intake == "" {
		count = count[1:]
	}
	decision := "wait"
	var why []string
	for _, a := range do[:min(len(do), named)] {
		decision, why = "set", append(why, a.Job+" to "+a.Why)
	}
	for _, n := range []struct {
		jobs int
		what string
	}{
		{len(do) - named, "others"}, {rest.more, "wait for the next sample"}, {rest.late, "wait for a retry"}, {rest.moved, "stay where somebody else has moved them"},
	} {
		if n.jobs > 0 {
			why = append(why, fmt.Sprint(n.jobs, " ", n.what))
		}
	}
	if why == nil {
		why = []string{"every job is in its level"}
	}
	levels := strings.ReplaceAll(strings.Trim(fmt.Sprint(count), "[]"), " ", "/")
	l.said = []slog.Attr{slog.String("levels", levels), slog.Int("moves", len(do)), slog.String("decision", decision), slog.String("why", strings.Join(why, "; "))}
}

// Explain implements steer.Explainer.
func (l *steerer) Explain() []slog.Attr { return l.said }

// Found implements steer.Describer: it changes no property of a queue.
func (l *steerer) Found(*steer.Queue) string { return "" }

// Bounds implements steer.Describer.
func (l *steerer) Bounds() string {
	text := "jobs are moved down only: " + strings.Join(l.queues, ", ")
	if l.intake != "" {
		text += "; new ones come from " + l.intake
	}
	return text
}
