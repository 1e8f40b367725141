package study

import (
	"bytes"
	"fmt"
	"math"
)

// picture is a plot of measured against simulated times of the jobs: on the diagonal they are equal.
func (f *mapreduceFacts) picture() []byte {
	const side, margin = 420.0, 60.0
	most := 0.0
	for _, j := range f.jobs {
		most = max(most, f.a.of(j), f.b.of(j), f.simA.of(j), f.simB.of(j))
	}
	step := 20.0
	for most/step > 8 {
		step *= 2
	}
	most = math.Ceil(most/step) * step
	x := func(v float64) float64 { return margin + v/most*side }
	y := func(v float64) float64 { return margin/2 + side - v/most*side }
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" font-family="sans-serif" font-size="12">`+"\n",
		side+margin+150, side+margin+20, side+margin+150)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	for v := 0.0; v <= most; v += step {
		fmt.Fprintf(&b, `<path d="M%.1f %.1fV%.1fM%.1f %.1fH%.1f" stroke="#ddd"/>`, x(v), y(0), y(most), x(0), y(v), x(most))
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%.0f</text><text x="%.1f" y="%.1f" text-anchor="end">%.0f</text>`+"\n",
			x(v), y(0)+16, v, x(0)-6, y(v)+4, v)
	}
	fmt.Fprintf(&b, `<polygon points="%.1f,%.1f %.1f,%.1f %.1f,%.1f" fill="#888" opacity="0.18"/>`+"\n", x(0), y(0), x(most), y(most*0.95), x(most/1.05), y(most))
	fmt.Fprintf(&b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="#888"/>`+"\n", x(0), y(0), x(most), y(most))
	for _, j := range f.jobs {
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="5" fill="none" stroke="#1f6fb2" stroke-width="2"><title>%s under A</title></circle>`+"\n", x(f.a.of(j)), y(f.simA.of(j)), j)
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="5" fill="#d1540f"><title>%s under B</title></circle>`+"\n", x(f.b.of(j)), y(f.simB.of(j)), j)
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">measured time of a job, s</text>`, x(most/2), y(0)+38)
	fmt.Fprintf(&b, `<text transform="translate(16 %.1f) rotate(-90)" text-anchor="middle">simulated, s</text>`+"\n", y(most/2))
	right := x(most) + 16
	fmt.Fprintf(&b, `<circle cx="%.1f" cy="40" r="5" fill="none" stroke="#1f6fb2" stroke-width="2"/><text x="%.1f" y="44">A: as it was</text>`, right, right+12)
	fmt.Fprintf(&b, `<circle cx="%.1f" cy="62" r="5" fill="#d1540f"/><text x="%.1f" y="66">B: predicted</text>`, right, right+12)
	fmt.Fprintf(&b, `<text x="%.1f" y="88">grey: within 5 %%</text>`+"\n</svg>\n", right-5)
	return b.Bytes()
}
