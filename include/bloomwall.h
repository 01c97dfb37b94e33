// libbloomwall: asks the filters of bloomwall from any program, by the same code as the proxy.
//
//   bw_policy *policy = bw_new();
//   bw_add_filter(policy, "malware", "/var/lib/bloomwall/malware.bwf");
//   bw_set(policy, "delta", "/var/lib/bloomwall/malware.delta");
//   if (bw_reload(policy) != 0) fprintf(stderr, "%s\n", bw_error_text());
//   if (bw_ask(policy, BW_URL, url, strlen(url), NULL) == BW_BLOCKED) ...
//   bw_free(policy);
//
// Errors: a call that fails returns a negative number, one of BW_ERROR_..., or NULL; bw_error_text() says in English
//   what is wrong, where, and what to do about it. No exception leaves the library, and it never ends the process.
// Threads: any number of threads may ask one policy, and one of them may reload it meanwhile. A bw_answer belongs to
//   one thread at a time.
// Ownership: what bw_new() and its like return is freed by its own bw_..._free(). Texts that are given are copied or
//   only read during the call. Texts that are returned belong to the library, and live as long as their call says.
// Text: octets; lengths are in octets. Names, files, keys and values end with a NUL.
// Signals: opening the first filter installs a handler of SIGBUS that calls the one before for whatever is not a
//   filter's: a filter file that is cut while it is mapped is a lost filter (`on_error`), not the end of the process.
//   A program that wants a handler of its own installs it before, or calls this one. dlclose() leaves the library in
//   memory, so that the handler is there as long as the process.
// Processes: after fork() both may ask and reload, provided that no other thread was asking during the fork.
// For ever: functions, numbers and meanings of this header stay; later versions only add. Other errors and reasons than
//   those named here may come.
// SPDX-License-Identifier: Apache-2.0
#ifndef BLOOMWALL_H
#define BLOOMWALL_H

#include <stddef.h>

#if defined(__GNUC__)
#define BW_API __attribute__((visibility("default")))
#else
#define BW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Of the library that is running: "0.1.0". Static.
BW_API const char* bw_version(void);

// Why a call failed. The same words as in the program's messages and its documentation of filter files.
enum {
  BW_ERROR_IO = -1,           // the system refused: open, read, map
  BW_ERROR_TOO_SHORT = -2,    // fewer octets than the file's header promises
  BW_ERROR_BAD_MAGIC = -3,    // not a filter file
  BW_ERROR_UNSUPPORTED = -4,  // a version or feature that this library does not know
  BW_ERROR_BAD_HEADER = -5,
  BW_ERROR_BAD_SECTION = -6,
  BW_ERROR_BAD_DIGEST = -7,     // the octets are not those that were written
  BW_ERROR_BAD_SYNTAX = -8,     // a delta, allow list or key that cannot be read
  BW_ERROR_WRONG_BASE = -9,     // a delta that was made for another filter file
  BW_ERROR_UNMET_TARGET = -10,  // an error rate or size that cannot be had
  BW_ERROR_LIMIT = -11,         // a size or count over its limit
  BW_ERROR_USAGE = -12,         // an argument that is wrong by itself or in this place
  BW_ERROR_UNTRUSTED = -13,     // not signed by the public key, or changed since
  BW_ERROR_OUTDATED = -14,      // older than one that was accepted before
  BW_ERROR_NOT_LOADED = -15,    // asked before the first bw_reload() that succeeded
  BW_ERROR_MEMORY = -16,        // there is no more
  BW_ERROR_INTERNAL = -17       // a fault of the library; please report it with its text
};

// Of the last call of this thread that failed: its number, and its text of one or more lines, one for each thing that
// is wrong. 0 and "" where none has. The text lives until the next call of this thread that fails. Calls that succeed
// change neither.
BW_API int bw_error_code(void);
BW_API const char* bw_error_text(void);

// --- A policy: filters in their order, and allow lists -------------------------------------------------------------

typedef struct bw_policy bw_policy;

// A policy without filters, which nobody can ask before bw_reload(). NULL: no memory.
BW_API bw_policy* bw_new(void);

// Adds a filter file (.bwf) behind those that were added before. `name`: what answers call it; two may not have the
// same. NULL: the file's name without folder and ending. Files are opened by bw_reload(), and so are those of the two
// calls below; where it has been called already, they count from the next one on.
BW_API int bw_add_filter(bw_policy* policy, const char* name, const char* file);
// Adds an allow list, as `allow_lists` of bloomwall.yaml: a text file of entries that overrule every filter, or those
// that they name.
BW_API int bw_add_allow_list(bw_policy* policy, const char* file);

// Sets what has the same name and meaning in bloomwall.yaml. Of the filter that was added last:
//   delta       file of adds and removes. Default "": none
//   exact       file of the exact side (.bwx). Default "": none
//   public_key  PEM file: the filter and its delta must be signed by one of its keys. Default "": none is asked for
//   action      block | monitor | allow | off. Default block
//   on_error    block | allow: what a filter says that was lost because its file was cut or its disk failed.
//               Default block
// Of the whole policy:
//   otherwise   allow | deny: the verdict on what no filter and no allow list decides. Default allow
//   check       load: bw_reload() reads every octet of a filter that is new to it and compares digests. read: each
//               page is compared when a question first reads it, so that loading takes no time that depends on the
//               file's size; where a page is damaged, this question and all later ones fail with BW_ERROR_BAD_DIGEST.
//               Default load
// Errors: usage, for an unknown key or value, or where no filter has been added yet.
BW_API int bw_set(bw_policy* policy, const char* key, const char* value);

// Opens all files, and swaps them in as a whole. Where one cannot be used, everything stays as it was, and the text
// names every error of every file. What has not changed since the last time is not read again. Replace files by
// rename, as bloomwall-filter does; one that is written to in place is lost. They are mapped, so that processes share
// their pages.
// Never delays a question. Returns when nobody asks the former files any more, which are unmapped and closed by then:
// with `check: load` after about the time of reading what is new, and the longest bulk call that was under way. Calls
// from several threads run one after the other. Errors: those above but not_loaded.
BW_API int bw_reload(bw_policy* policy);

// One filter file alone: bw_new(), bw_add_filter(NULL, file) and bw_reload(). NULL: see bw_error_text().
BW_API bw_policy* bw_open(const char* file);

// Nobody may be asking. NULL is ignored.
BW_API void bw_free(bw_policy* policy);

// --- Questions -----------------------------------------------------------------------------------------------------

// What a text is. Spelling does not matter to the first three: case, percent-encoding, dots in paths, hosts in
// Unicode, old spellings of addresses. Filters with the action off are not asked.
enum {
  // "http://example.com/a?b", or without scheme: as the proxy judges a request.
  BW_URL = 1,
  // "example.com", "192.0.2.1", "[2001:db8::1]", without a port: as the proxy judges CONNECT and the name in a
  // ClientHello. Entries of URLs on the host do not count.
  BW_HOST = 2,
  // "192.0.2.1", "2001:db8::1": as BW_HOST, but whatever is no address is rejected. Networks count in all three.
  BW_ADDRESS = 3,
  // Any octets, of filters made by `bloomwall-filter build --raw`. Allow lists do not concern them.
  BW_RAW = 4
};

// In the order of their severity.
enum {
  BW_ALLOWED = 0,
  BW_MONITORED = 1,  // a filter with the action monitor holds it, and none blocks it
  BW_BLOCKED = 2,
  // A text that has no canonical form, or more than can be judged. The proxy refuses such requests with status 400.
  BW_REJECTED = 3
};

typedef struct bw_answer bw_answer;

// Room for an answer, to be used again and again by one thread at a time. NULL: no memory.
BW_API bw_answer* bw_answer_new(void);
// NULL is ignored.
BW_API void bw_answer_free(bw_answer* answer);

// The verdict, BW_ALLOWED to BW_REJECTED, or an error: not_loaded, usage, bad_digest (with `check: read`), memory.
// `answer`: what else there is to know, or NULL.
// Cost: as the proxy's own look-up, and some ns more. Once a thread (or `answer`) has asked a few questions, one that
// no filter holds allocates no memory, but for hosts with octets >= 0x80 and for texts much longer than those before.
// May wait for the disk where the file's page is not in memory.
BW_API int bw_ask(const bw_policy* policy, int kind, const char* text, size_t length, bw_answer* answer);

// Of the last question that was put with this `answer`; valid until the next one.
// The filter that decided, or ""; "otherwise" where the default of the policy did.
BW_API const char* bw_answer_filter(const bw_answer* answer);
// The expression that matched, or the entry that allows: "example.com", "example.com/a/", "1.10.16.0/20", the octets
// of a raw key; or "". A NUL follows. `length`, unless NULL, is set to its octets without that.
BW_API const char* bw_answer_expression(const bw_answer* answer, size_t* length);
// Why, as `bloomwall explain` and the log say it: unlisted, listed, confirmed, delta, exception, refuted, allow_list,
// allow_filter, filter_lost, default_deny; of a rejected text in words what is wrong with it. Static.
BW_API const char* bw_answer_reason(const bw_answer* answer);

// Many questions at once, all to the same files though bw_reload() may swap them meanwhile. `lengths`: NULL where all
// texts end with a NUL. Writes the verdict on texts[i] to verdicts[i]. Returns 0 or an error, after which the
// verdicts mean nothing.
BW_API int bw_ask_many(const bw_policy* policy, int kind, size_t count, const char* const* texts, const size_t* lengths,
                       unsigned char* verdicts);

// Likewise, for each line of a buffer: up to LF, with a CR before it left away, but for BW_RAW, to which a CR is an
// octet like any other. An empty line is asked, too; a last line may lack its LF. Sets *lines to the number of lines
// in the buffer. Where `capacity`, the room in `verdicts`, is less, the error is usage, and nothing is asked: so with
// 0 and NULL it counts them. Nobody should change the buffer during the call: verdicts on what is changed mean nothing,
// but no more than *lines of them are written.
BW_API int bw_ask_lines(const bw_policy* policy, int kind, const char* text, size_t length, unsigned char* verdicts,
                        size_t capacity, size_t* lines);

// --- A set of what was seen, which grows while it is asked: a crawler's visited table -------------------------------
//
//   bw_seen *seen = bw_seen_open("visited.bwf", BW_URL, 50000000, 1e-6);
//   if (bw_seen_add(seen, url, strlen(url)) == BW_NEW) fetch(url);
//   bw_seen_save(seen);  // now and then, and at the end
//   bw_seen_free(seen);
//
// It never says "new" of what it holds; of what it does not hold it says "seen" with a chance that stays below the
// error that it was made for. At an error of 1e-6 it takes 3.8 octets of memory a key (50 million: 190 MB; a billion:
// 3.8 GB) and as much in its file, all of it from the beginning. It neither grows nor errs more when it is full: it
// refuses further keys, with BW_ERROR_LIMIT.
// Threads: any number may call everything but bw_seen_free() at the same time. Of those that add one key at the same
// time exactly one is told that it is new.
// Files: bw_seen_save() writes a checkpoint: a new file beside the old one, synced, which then takes its name. After a
// crash at any time the checkpoint before or the new one is there, whole, and what was added since is new again. Sums
// cover every octet: a file that is damaged all the same is refused. It is what `bloomwall-filter dedup --state` reads
// and writes, and `info`, `verify` and `query --raw` read it. What of two processes opens one file and saves second
// gets an error.
// After fork() both processes may go on, provided that no other thread was in a call; each has a set of its own.

typedef struct bw_seen bw_seen;

enum {
  BW_NEW = 0,   // it is seen from now on
  BW_SEEN = 1,  // it was added before, or is taken for another one by error
  BW_FULL = 2   // in outcomes of bulk calls: it is new, but was not taken, because the set is full
};

// The set in `file`, or a new one where there is no such file; it is written by bw_seen_save() first. NULL: a set that
// is in memory alone.
// `kind`: BW_URL and BW_HOST compare what texts spell, as questions do (of a URL with several readings the first; what
//   is none stands for its octets); BW_RAW octets. A file keeps to the kind that it was made with.
// `keys`, `error`: how many different keys it is to hold, and how often it may say "seen" of a new one once it does:
//   1e-6 is once in a million. A file remembers both: then they must be the same, or 0. An `error` of 0 is 1e-6 where
//   nobody has said another one.
// NULL: see bw_error_text(). Errors: usage; unmet_target, for an error that cannot be had; limit, where there is not so
// much memory; those of a file that cannot be used.
BW_API bw_seen* bw_seen_open(const char* file, int kind, unsigned long long keys, double error);
// Nobody may be in another call. What was not saved is lost. NULL is ignored.
BW_API void bw_seen_free(bw_seen* seen);

// BW_NEW, BW_SEEN or an error: limit, where the text is new, but the set full.
// Cost: a few cache lines that are seldom in the cache, under a lock that other threads seldom want.
BW_API int bw_seen_add(bw_seen* seen, const char* text, size_t length);
// Whether it is in the set, which stays as it is: BW_NEW, BW_SEEN or an error.
BW_API int bw_seen_has(const bw_seen* seen, const char* text, size_t length);
// Many at once, in their order: an outcome, BW_NEW to BW_FULL, for each of them. Faster than one by one, because memory
// is fetched ahead. `lengths`: NULL where all texts end with a NUL. Returns 0 or an error. Where that is limit, all
// outcomes are true, and there is a BW_FULL among them; after other errors they mean nothing.
BW_API int bw_seen_add_many(bw_seen* seen, size_t count, const char* const* texts, const size_t* lengths,
                            unsigned char* outcomes);
// Likewise, for each line of a buffer, as bw_ask_lines() has lines, `capacity` and *lines; nobody should change it.
BW_API int bw_seen_add_lines(bw_seen* seen, const char* text, size_t length, unsigned char* outcomes, size_t capacity,
                             size_t* lines);

// Writes the checkpoint: everything whose call had returned before, and perhaps some of what is added meanwhile, which
// goes on. Takes the time of writing the whole set to the disk. After an error the file is as it was. Errors: io, where
// another process has written the file, too; usage, for a set without a file.
BW_API int bw_seen_save(bw_seen* seen);

// Of the set: different keys that were new to it, how many it was made for, its octets in memory. 0 of NULL.
BW_API unsigned long long bw_seen_count(const bw_seen* seen);
BW_API unsigned long long bw_seen_capacity(const bw_seen* seen);
BW_API unsigned long long bw_seen_bytes(const bw_seen* seen);
// The chance that the next new text is taken for seen: as the set was made for, and as it is now.
BW_API double bw_seen_error(const bw_seen* seen);
BW_API double bw_seen_error_now(const bw_seen* seen);

#ifdef __cplusplus
}
#endif

#endif
