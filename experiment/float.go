package experiment

import (
	"encoding/json"
	"math"
)

// Float is a number that may be missing: NaN here, null in JSON, which has no NaN.
type Float float64

// MarshalJSON writes what is not a number as null.
func (v Float) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(v))
}

// UnmarshalJSON reads null as NaN.
func (v *Float) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*v = Float(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(v))
}

// MarshalJSON writes a point as [mean, low, high].
func (p Point) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]Float{Float(p.Mean), Float(p.Lo), Float(p.Hi)})
}

// UnmarshalJSON reads a point.
func (p *Point) UnmarshalJSON(text []byte) error {
	var v [3]Float
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	p.Mean, p.Lo, p.Hi = float64(v[0]), float64(v[1]), float64(v[2])
	return nil
}
