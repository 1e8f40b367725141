package kube

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
)

// decoder reads large JSON documents piece by piece.
type decoder struct {
	*json.Decoder
	b *input.Bounded
}

func newDecoder(r io.Reader) *decoder {
	b := &input.Bounded{R: r, Err: fmt.Errorf("an object of more than %v", unit.Bytes(maxObject))}
	return &decoder{json.NewDecoder(b), b}
}

// token reads a token, which should be a delimiter; 0: any.
func (d *decoder) token(want json.Delim) (json.Token, error) {
	d.b.Left = maxObject
	t, err := d.Token()
	if err == nil && want != 0 && t != want {
		err = fmt.Errorf("%.40v where %v should be", t, want)
	}
	return t, err
}

// value reads a value of bounded size.
func (d *decoder) value(into any) error {
	d.b.Left = maxObject
	return d.Decode(into)
}

// object reads an object's fields; those that are not named are passed over.
func (d *decoder) object(fields map[string]func() error) error {
	_, err := d.token('{')
	for err == nil && d.More() {
		var key json.Token
		if key, err = d.token(0); err != nil {
			break
		}
		name, _ := key.(string)
		read, known := fields[name]
		if !known {
			read = func() error { return d.value(new(json.RawMessage)) }
		}
		err = read()
	}
	if err == nil {
		_, err = d.token('}')
	}
	return err
}

// list reads a list's elements.
func (d *decoder) list(element func(json.RawMessage) error) error {
	_, err := d.token('[')
	for err == nil && d.More() {
		var e json.RawMessage
		if err = d.value(&e); err == nil {
			err = element(e)
		}
	}
	if err == nil {
		_, err = d.token(']')
	}
	return err
}
