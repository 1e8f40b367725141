// Package krb lets package rest speak to a cluster under Kerberos (SPNEGO). It is the only user of gokrb5, so that the library
// can be replaced.
//
// A request carries its ticket from the start: asking first without one, to be told 401, would send the body of a write
// twice. Afterwards the server's cookie (hadoop.auth) stands for the ticket in reads; a write carries both, since a cookie
// that has ended would otherwise cost the same second journey.
//
// A service ticket outlives the key it was made for. When a server's key was renewed it answers 403 with a GSSException to the tickets of
// old until they end, so on such an answer the login is made anew, once for a request. The answer comes from the
// filter in front of the server, which has then done nothing yet: sending even a write again is safe.
//
// gokrb5's errors carry no codes; they are told apart by their texts, each into one line that says what to do.
package krb
