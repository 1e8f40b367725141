// Package remote lists Spark's event logs in an S3-compatible store and on Spark's history server.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/internal/patience"
	"github.com/yardmaster/yardmaster/workload/spark"
)

// S3 is a store that speaks Amazon's protocol. Requests are signed (version 4) if there is a key.
type S3 struct {
	Endpoint           string // URL; "": Amazon's
	Region             string // "": us-east-1
	Key, Secret, Token string
}

// FromEnvironment takes region and credentials from the variables that other S3 clients take: never from flags, which others can see.
func FromEnvironment(endpoint string, env func(string) string) *S3 {
	return &S3{
		Endpoint: endpoint, Region: cmp.Or(env("AWS_REGION"), env("AWS_DEFAULT_REGION")),
		Key: env("AWS_ACCESS_KEY_ID"), Secret: env("AWS_SECRET_ACCESS_KEY"), Token: env("AWS_SESSION_TOKEN"),
	}
}

// Limits on answers.
const (
	maxPage  = 16 << 20
	maxPages = 100_000
	maxKey   = 1024 // of the protocol
)

// wait is for how long a server may send nothing.
var wait = time.Minute

// Logs lists the objects of a bucket whose names begin with a prefix.
func (s *S3) Logs(bucket, prefix string) spark.Source {
	return func(ctx context.Context) iter.Seq2[spark.File, error] {
		return func(yield func(spark.File, error) bool) {
			query := url.Values{"list-type": {"2"}, "prefix": {prefix}}
			for range maxPages {
				page, err := s.list(ctx, bucket, query)
				if err != nil {
					yield(spark.File{}, err)
					return
				}
				for _, o := range page.Contents {
					if strings.HasSuffix(o.Key, "/") || len(o.Key) > maxKey {
						continue
					}
					open := func(ctx context.Context) (io.ReadCloser, error) { return s.get(ctx, bucket, o.Key, nil) }
					if !yield(spark.File{Name: o.Key, Size: o.Size, Open: open}, nil) {
						return
					}
				}
				if !page.IsTruncated || page.Next == "" {
					return
				}
				query.Set("continuation-token", page.Next)
			}
		}
	}
}

type listing struct {
	Contents []struct {
		Key  string
		Size int64
	}
	IsTruncated bool
	Next        string `xml:"NextContinuationToken"`
}

func (s *S3) list(ctx context.Context, bucket string, query url.Values) (page listing, err error) {
	body, err := s.get(ctx, bucket, "", query)
	if err != nil {
		return page, err
	}
	defer body.Close()
	tooLong := errors.New("the answer is longer than 16 MiB")
	if err := xml.NewDecoder(&input.Bounded{R: body, Left: maxPage, Err: tooLong}).Decode(&page); err != nil {
		return page, fmt.Errorf("list s3://%s: %w", bucket, err)
	}
	return page, nil
}

// get requests an object, or a listing of the bucket.
func (s *S3) get(ctx context.Context, bucket, key string, query url.Values) (io.ReadCloser, error) {
	what := "s3://" + bucket + "/" + key
	region := cmp.Or(s.Region, "us-east-1")
	base, path := cmp.Or(s.Endpoint, "https://"+bucket+".s3."+region+".amazonaws.com"), "/"+key
	if s.Endpoint != "" {
		path = "/" + bucket + path
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s is not the URL of a store: give one like https://store.example.com:9000", base)
	}
	// Signatures want all escaped but letters, digits, -._~ and the path's slashes.
	u.Path, u.RawPath = path, strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(path))
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	if s.Key != "" {
		s.sign(r, region, time.Now().UTC())
	}
	const denied, elsewhere = "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION to those of an account that may read it", "set AWS_REGION to the bucket's region; or have the credentials expired?"
	return fetch(r, what, map[int]string{
		http.StatusUnauthorized: denied, http.StatusForbidden: denied,
		http.StatusMovedPermanently: elsewhere, http.StatusTemporaryRedirect: elsewhere, http.StatusBadRequest: elsewhere,
	})
}

// fetch makes a request and returns the body of the answer. hints say what to do about answers that would be the same again.
func fetch(r *http.Request, what string, hints map[int]string) (io.ReadCloser, error) {
	a, err := patience.Do(plain, r, wait)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address, whose query is of no interest
		}
		return nil, fmt.Errorf("read %s: %w: %w", what, spark.ErrNoAnswer, err)
	}
	if a.StatusCode == http.StatusOK {
		return answer{a.Body}, nil
	}
	text, _ := io.ReadAll(io.LimitReader(a.Body, 4<<10)) // what has come
	_ = a.Body.Close()
	hint, known := hints[a.StatusCode]
	switch {
	case known && unsigned(a.StatusCode, text): // all that follows would be left out, too
		return nil, fmt.Errorf("read %s: %w to this account: the server answers %s: %s", what, spark.ErrNoAnswer, a.Status, hint)
	case known:
		return nil, fmt.Errorf("read %s: the server answers %s: %s", what, a.Status, hint)
	case a.StatusCode == http.StatusTooManyRequests || a.StatusCode >= http.StatusInternalServerError:
		return nil, fmt.Errorf("read %s: %w: the server says %s", what, spark.ErrNoAnswer, a.Status)
	}
	return nil, fmt.Errorf("read %s: the server answers %s", what, a.Status)
}

// unsigned reports whether an answer is about who asks, and not about what was asked for: 403 is both.
func unsigned(status int, text []byte) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusBadRequest:
		return true
	case http.StatusForbidden:
		return slices.ContainsFunc([]string{"InvalidAccessKeyId", "SignatureDoesNotMatch", "RequestTimeTooSkewed", "Expired", "InvalidToken"}, func(code string) bool {
			return bytes.Contains(text, []byte("<Code>"+code))
		})
	}
	return false
}

// answer is a body. If it breaks off, that says nothing about what it was to be.
type answer struct{ io.ReadCloser }

func (b answer) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // an error that wraps it is none of an answer's end
		err = fmt.Errorf("%w: %w", spark.ErrNoAnswer, err)
	}
	return n, err
}

// plain follows no redirects: a signature is for one host.
var plain = &http.Client{Transport: transport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func transport() http.RoundTripper {
	t := patience.Transport(wait)
	t.DisableCompression = true
	return t
}

// sign adds a signature of version 4: https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html.
func (s *S3) sign(r *http.Request, region string, now time.Time) {
	const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // the SHA-256 of nothing
	stamp := now.Format("20060102T150405Z")
	r.Header.Set("X-Amz-Date", stamp)
	r.Header.Set("X-Amz-Content-Sha256", noBody)
	names, values := "host;x-amz-content-sha256;x-amz-date", "host:"+r.URL.Host+"\nx-amz-content-sha256:"+noBody+"\nx-amz-date:"+stamp+"\n"
	if s.Token != "" {
		r.Header.Set("X-Amz-Security-Token", s.Token)
		names, values = names+";x-amz-security-token", values+"x-amz-security-token:"+s.Token+"\n"
	}
	request := strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, values, names, noBody}, "\n")
	scope := now.Format("20060102") + "/" + region + "/s3/aws4_request"
	hash := sha256.Sum256([]byte(request))
	text := "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hex.EncodeToString(hash[:])
	key := []byte("AWS4" + s.Secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x", s.Key, scope, names, mac(key, text)))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = io.WriteString(h, text) // never fails
	return h.Sum(nil)
}
