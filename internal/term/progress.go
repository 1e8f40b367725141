package term

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"
)

// Progress is a progress line with an estimate of the remaining time. It is redrawn at most
// ten times a second, and cleared when the work is done. On anything but a terminal it writes nothing. It is safe for
// concurrent use.
type Progress struct {
	mu      sync.Mutex
	w       io.Writer // nil: silent
	width   int
	label   string
	started time.Time
	drawn   time.Time
	shown   bool
	now     func() time.Time // the real clock, except in tests
}

// every is the minimum redraw interval.
const every = 100 * time.Millisecond

// NewProgress starts a progress line on f if it is a terminal.
func NewProgress(f *os.File, label string) *Progress {
	p := &Progress{label: label, now: time.Now}
	if IsTerminal(f) && os.Getenv("TERM") != "dumb" {
		p.w, p.width = f, 80
		if n, ok := size(f); ok { // its real width: a line that is wrapped cannot be redrawn
			p.width = n
		}
	}
	p.started = p.now()
	return p
}

// Active says whether anything is drawn at all.
func (p *Progress) Active() bool { return p != nil && p.w != nil }

// Set sets the share of the work done (0 to 1; negative: unknown). detail is shown beside it.
func (p *Progress) Set(done float64, detail string) {
	if !p.Active() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.shown && now.Sub(p.drawn) < every {
		return
	}
	p.drawn, p.shown = now, true
	fmt.Fprint(p.w, "\r"+fit(p.line(done, detail, now), p.width-1)+"\x1b[K")
}

// End clears the line.
func (p *Progress) End() {
	if !p.Active() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.w = nil
}

func (p *Progress) line(done float64, detail string, now time.Time) string {
	parts := []string{p.label}
	if done >= 0 && !math.IsNaN(done) {
		done = min(done, 1)
		const cells = 24
		full := int(done * cells)
		parts = append(parts, fmt.Sprintf("[%s%s] %3.0f %%", strings.Repeat("=", full), strings.Repeat(" ", cells-full), 100*done))
	}
	if detail != "" {
		parts = append(parts, Clean(detail))
	}
	if elapsed := now.Sub(p.started); done > 0.01 && elapsed > time.Second {
		parts = append(parts, "about "+left(time.Duration(float64(elapsed)*(1-done)/done))+" left")
	}
	return strings.Join(parts, "  ")
}

// left formats a remaining time, rounded.
func left(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", int(math.Ceil(d.Seconds())))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(math.Ceil(d.Minutes())))
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// fit cuts a line to a number of columns, so that it is never wrapped (a wrapped line cannot be redrawn).
func fit(s string, columns int) string {
	if r := []rune(s); columns > 0 && len(r) > columns {
		return string(r[:columns])
	}
	return s
}
