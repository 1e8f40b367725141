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
