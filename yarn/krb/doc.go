// Package krb gives package rest Kerberos authentication (SPNEGO). It is the only user of gokrb5, so that the library
// can be replaced.
//
// A request carries its ticket from the start: trying without one first, to get a 401, would send the body of a write
// twice. Afterwards the server's cookie (hadoop.auth) replaces the ticket in reads; a write carries both, since an expired
// cookie would otherwise cost the same second round trip.
//
// A service ticket outlives the key it was made for. A server whose key was renewed responds with 403 and a GSSException to old
// tickets until they expire, so on such a response the login is renewed, once per request. The response comes from the
// filter in front of the server, which has done nothing yet: even a write can be sent again safely.
//
// gokrb5's errors carry no codes; explain distinguishes them by their texts and maps each to one line that says what to do.
package krb
