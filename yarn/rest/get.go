package rest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/yardmaster/yardmaster/unit"
)

// get reads a whole response and returns what is under the keys.
func get[T any](ctx context.Context, c *Client, k *call, keys ...string) (T, error) {
	return parse(ctx, c, k, func(data []byte) (v T, err error) {
		err = decodeWhole(data, &v, keys...)
		return v, err
	})
}

// parse reads a whole response and parses it; a web page instead of data is an error.
func parse[T any](ctx context.Context, c *Client, k *call, parse func([]byte) (T, error)) (v T, err error) {
	err = c.read(ctx, k, func(a *answer) error {
		limit := c.maxHeld(k)
		data, err := io.ReadAll(io.LimitReader(&deadlineBody{a.body, time.Now().Add(wholeWithin * c.o.Timeout), wholeWithin * c.o.Timeout}, limit+1))
		if err != nil {
			return err
		}
		if int64(len(data)) > limit {
			return tooLarge(limit)
		}
		if title, page := pageTitle(data, a.Header.Get("Content-Type")); page {
			return htmlError(title)
		}
		v, err = parse(data)
		return err
	})
	return v, err
}

// maxRelayed bounds what a user's process may make us hold. JSON takes some twenty times its size in memory.
const maxRelayed = 1 << 20

// maxHeld is the max number of bytes of a response to hold.
func (c *Client) maxHeld(k *call) int64 {
	if k.relayed {
		return min(c.o.MaxAnswer, maxRelayed)
	}
	return c.o.MaxAnswer
}

// maxElement bounds one element of a list, in bytes once its texts are cut. A job that waits for containers on a thousand nodes
// takes 1 MiB.
const maxElement = 8 << 20

func tooLarge(limit int64) error {
	return &FormatError{Reason: fmt.Sprintf("the answer is larger than %v", unit.Bytes(limit)), Hint: "look at what it sends, with curl"}
}

// list iterates over the elements under the keys as they arrive. It ends after an error.
func list[T any](ctx context.Context, c *Client, k *call, keys ...string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		handed := false
		err := c.read(ctx, k, func(a *answer) error {
			r := bufio.NewReaderSize(a.body, 8<<10)
			head, _ := r.Peek(4 << 10) // an error will recur
			if title, page := pageTitle(head, a.Header.Get("Content-Type")); page {
				return htmlError(title)
			}
			err := decodeList(r, min(c.maxHeld(k), maxElement), c.o.MaxList, keys, func(v T) error {
				handed = true
				a.slot.free() // whoever gets an element may query the same server
				if !yield(v, nil) {
					return errStop
				}
				return a.slot.take(ctx)
			}, c.cuts.add)
			if err != nil && handed && !errors.Is(err, errStop) {
				return &givenUp{err}
			}
			return err
		})
		if err != nil {
			var zero T
			yield(zero, err)
		}
	}
}
