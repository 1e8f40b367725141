package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/workload/spark"
)

// Server lists the applications of a Spark history server, which gives their logs as zip archives.
func Server(base string) spark.Source {
	return func(ctx context.Context) iter.Seq2[spark.File, error] {
		return func(yield func(spark.File, error) bool) {
			if err := applications(ctx, base, yield); err != nil {
				yield(spark.File{}, err)
			}
		}
	}
}

func applications(ctx context.Context, base string, yield func(spark.File, error) bool) error {
	body, err := ask(ctx, base, "")
	if err != nil {
		return err
	}
	defer body.Close()
	in := &input.Bounded{R: body, Left: maxPage, Err: errors.New("one is described by more than 16 MiB")}
	d := json.NewDecoder(in)
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return fmt.Errorf("%s does not answer as a Spark history server: is it its web address?", base)
	}
	for d.More() {
		in.Left = maxPage
		var app struct{ ID string }
		if err := d.Decode(&app); err != nil {
			return fmt.Errorf("read the applications of %s: %w", base, err)
		}
		if app.ID == "" || len(app.ID) > 256 {
			continue
		}
		open := func(ctx context.Context) (io.ReadCloser, error) {
			return ask(ctx, base, "/"+url.PathEscape(app.ID)+"/logs")
		}
		if !yield(spark.File{Name: app.ID + ".zip", Open: open}, nil) {
			return nil
		}
	}
	if _, err := d.Token(); err != nil { // the list's end
		return fmt.Errorf("read the applications of %s: %w", base, err)
	}
	return nil
}

func ask(ctx context.Context, base, path string) (io.ReadCloser, error) {
	u := strings.TrimSuffix(base, "/") + "/api/v1/applications" + path
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	const folder = "its logs can be read from their folder instead"
	return fetch(r, u, map[int]string{ // it answers 500 if it cannot read one of its logs
		http.StatusUnauthorized: folder, http.StatusForbidden: folder, http.StatusInternalServerError: folder,
	})
}
