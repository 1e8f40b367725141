package steering

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/unit"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"clock": func(t time.Time) string { return t.Format("2006-01-02 15:04:05") },
	"ago": func(t time.Time) string {
		return unit.FormatSeconds(math.Round(max(0, time.Since(t).Seconds()))) + " ago"
	},
	"share":   shareText,
	"percent": func(n Number) string { return percentText(n) },
	"secs": func(n Number) string {
		if !n.known() {
			return ""
		}
		return unit.FormatSeconds(float64(n))
	},
	"known": Number.known,
	"left":  func(n Number) string { return before(-n, "%s", "passed %s ago") },
	"late":  func(n Number) string { return before(n, "%s early", "%s late") },
	"count": func(n Number) string {
		if !n.known() {
			return ""
		}
		return strconv.FormatFloat(math.Ceil(float64(n)), 'f', -1, 64)
	},
	"words": func(outcome string) string {
		return map[string]string{"asked": "pending", taken: "in force", refused: "refused", unverified: "not in force", restored: "restored", foreign: "somebody else's value"}[outcome] +
			map[bool]string{true: "could not be restored"}[outcome == "not restored"]
	},
	"tone": func(outcome string) string {
		switch outcome {
		case taken, restored:
			return "good"
		case "asked":
			return "same"
		}
		return "bad"
	},
}).Parse(pageHTML))

// before words a time in seconds that is before or after an instant.
func before(n Number, early, late string) string {
	switch t := unit.FormatSeconds(math.Abs(float64(n))); {
	case !n.known():
		return ""
	case n > 0:
		return fmt.Sprintf(late, t)
	default:
		return fmt.Sprintf(early, t)
	}
}

func shareText(n Number) string {
	switch {
	case !n.known():
		return "?"
	case n < 0:
		return "no limit"
	}
	return strconv.FormatFloat(math.Round(float64(n)*1e6)/1e6, 'f', -1, 64)
}

func percentText(n Number) string {
	if !n.known() || n < 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f %%", float64(n)*100)
}

// Status is everything that the page shows, and the content of status.json.
type Status struct {
	About  About   `json:"about"`
	Now    Now     `json:"now"`
	Kept   []Kept  `json:"would_restore"`
	Writes []Write `json:"writes"`    // newest first
	Lines  []Line  `json:"decisions"` // newest first

	Verdict            string       `json:"-"`
	Shares, Jobs, Idle *Chart       `json:"-"`
	Style              template.CSS `json:"-"`
	Script             template.JS  `json:"-"`
}

// Status returns the current state.
func (b *Board) Status() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := Status{About: b.about, Now: b.now, Kept: slices.Clone(b.would), Writes: slices.Clone(b.writes), Lines: slices.Clone(b.lines)}
	slices.Reverse(s.Writes)
	slices.Reverse(s.Lines)
	if s.Kept == nil {
		s.Kept = []Kept{}
	}
	if s.Writes == nil {
		s.Writes = []Write{}
	}
	if s.Lines == nil {
		s.Lines = []Line{}
	}
	s.Verdict = verdict(&b.about, &b.now)
	plain := func(v float64) string { return strconv.FormatFloat(math.Round(v*1e4)/1e4, 'f', -1, 64) }
	percent := func(v float64) string { return fmt.Sprintf("%.0f%%", v*100) }
	s.Shares = draw(b.points, 0.1, plain, series{"dash", func(p *point) float64 { return p.wanted }}, series{"c2", func(p *point) float64 { return p.share }})
	s.Jobs = draw(b.points, 2, plain, series{"c3", func(p *point) float64 { return float64(p.pending) }}, series{"c4", func(p *point) float64 { return float64(p.running) }})
	s.Idle = draw(b.points, 1, percent, series{"c2", func(p *point) float64 { return p.idle }})
	if s.Shares != nil {
		s.Shares.Words = fmt.Sprintf("Share over time; now %s in force, %s wanted", shareText(b.now.InForce), shareText(b.now.Wanted))
		s.Jobs.Words = fmt.Sprintf("Jobs over time; now %d running, %d waiting", b.now.Running, b.now.Pending)
		s.Idle.Words = "Idle processors over time; now " + percentText(b.now.Idle)
	}
	return s
}

// verdict is the state in one or two sentences.
func verdict(a *About, n *Now) string {
	switch {
	case n.Mode == "":
		return "The steerer is starting."
	case n.Mode == "wait":
		return "The scheduler could not be sampled. All changes are restored, and nothing is changed until samples have been good for a while."
	case n.Mode == "restore":
		return "A steerer's changes are being restored."
	case !a.Act:
		return "This steerer changes nothing; its decisions are shown below. To let it act, start it with --act."
	case n.Open == 0:
		return "This steerer acts. At the moment every setting has its original value."
	case n.Open == 1:
		return "This steerer acts. One setting is changed now and will be restored when the steerer exits."
	}
	return fmt.Sprintf("This steerer acts. %d settings are changed now and will be restored when the steerer exits.", n.Open)
}

// write writes the page, or only the part that changes.
func (s *Status) write(w io.Writer, whole bool) error {
	if !whole {
		return page.ExecuteTemplate(w, "main", s)
	}
	s.Style, s.Script = template.CSS(pageCSS), template.JS(pageJS) //nolint:gosec // our own files
	return page.Execute(w, s)
}
