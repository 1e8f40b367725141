package fabric

import "github.com/yardmaster/yardmaster/sim/flow"

// Up returns the links out of a rack.
func (f *Fabric) Up(rack int32) []flow.Link { return f.up[rack] }

// Down returns the links into a rack.
func (f *Fabric) Down(rack int32) []flow.Link { return f.down[rack] }

// Racks is the number of racks.
func (f *Fabric) Racks() int { return len(f.up) }
