package conform

// Placement is one container that was given to an application, for comparisons other than with SLS.
type Placement struct {
	Job      string
	Node     int32
	Priority int32
	At       int64 // ms
	Turn     int   // place of its pass over the node among all passes, for those at the same instant
}

// Outcome is what a run did. Instants are ms since time 0; -1: it did not happen.
type Outcome struct {
	Submit, Start, End map[string]int64 // by application
	Placed             []Placement
}

// Measure says how far ours is from truth, in the measures of the conformance table.
func Measure(truth, ours *Outcome) Distance { return measure(truth.own(), ours.own()) }

func (x *Outcome) own() *outcome {
	o := &outcome{submit: x.Submit, start: x.Start, end: x.End, placed: make([]placement, len(x.Placed))}
	for i, p := range x.Placed {
		o.placed[i] = placement{p.Job, p.Node, p.Priority, p.At, p.Turn}
	}
	o.settle()
	return o
}

// String is median, p95 and mean error, and how many are within 5 %.
func (d Distance) String() string { return errorsOf(&d) }
