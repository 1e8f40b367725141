package result

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes the run as result.json: indented, fields in a fixed order, the same bytes for the same run.
func (r *Run) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("writing the result as JSON: %w", err)
	}
	return nil
}

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(src io.Reader) (*Run, error) {
	r := new(Run)
	if err := json.NewDecoder(src).Decode(r); err != nil {
		return nil, fmt.Errorf("reading a result: %w", err)
	}
	if r.Tool != "yardmaster" {
		return nil, fmt.Errorf("reading a result: the file is not a result.json of yardmaster")
	}
	return r, nil
}
