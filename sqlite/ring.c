#include "cross.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

// steady reports whether the processor counts at the same pace whatever it does.
static int steady(void) {
	static int known; // atomic: 1 no, 2 yes
	int k = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (k == 0) {
		unsigned int a, b, c, d;
		k = __get_cpuid(0x80000007, &a, &b, &c, &d) && d >> 8 & 1 ? 2 : 1;
		__atomic_store_n(&known, k, __ATOMIC_RELAXED);
	}
	return k == 2;
}

// assay_ticks is a clock that is read in half the time of the system's.
int64_t assay_ticks(void) { return steady() ? (int64_t)__builtin_ia32_rdtsc() : assay_now(); }
#else
int64_t assay_ticks(void) { return assay_now(); }
#endif

// A reading is what both clocks tell at one time.
typedef struct {
	int64_t ticks, now;
} reading;

// read takes the closest of some readings: the thread may be held up within one.
static reading read_clocks(void) {
	reading best = {0};
	int64_t closest = INT64_MAX;
	for (int i = 0; i < 4; i++) {
		int64_t before = assay_ticks(), now = assay_now(), apart = assay_ticks() - before;
		if (apart < closest) {
			closest = apart;
			best.ticks = before + apart / 2;
			best.now = now;
		}
	}
	return best;
}

// A slot is free for the writer of turn n when next is n, and full for the reader when next is n+1:
// Dmitry Vyukov's bounded queue. Any connection writes, whatever holds the ring's lock in Go reads.
typedef struct {
	uint64_t next;
	assay_event event;
} slot;

struct assay_ring {
	uint64_t mask, head, tail, lost;
	reading since;  // a reading of a second ago at most, as the pace of both clocks may change
	double pace;    // nanoseconds of a tick, lately
	slot *slots;
	assay_text *texts; // of the slots, apart from them: most events have none, and touch one line of memory
};

assay_ring *assay_ring_new(uint64_t slots) {
	assay_ring *r = calloc(1, sizeof *r);
	if (r == NULL)
		return NULL;
	r->mask = slots - 1;
	r->slots = calloc(slots, sizeof *r->slots);
	r->texts = calloc(slots, sizeof *r->texts);
	if (r->slots == NULL || r->texts == NULL) {
		assay_ring_free(r);
		return NULL;
	}
	for (uint64_t i = 0; i < slots; i++)
		r->slots[i].next = i;
	r->since = read_clocks();
	return r;
}

void assay_ring_free(assay_ring *r) {
	free(r->slots);
	free(r->texts);
	free(r);
}

void assay_ring_put(assay_ring *r, int kind, uintptr_t conn, int64_t at, int64_t duration, uint32_t pages, uint32_t id, const char *text) {
	uint64_t n = __atomic_load_n(&r->head, __ATOMIC_RELAXED);
	slot *s;
	for (;;) {
		s = &r->slots[n & r->mask];
		int64_t ahead = (int64_t)(__atomic_load_n(&s->next, __ATOMIC_ACQUIRE) - n);
		if (ahead < 0) { // nobody took what is here: newer events are lost, and counted
			__atomic_fetch_add(&r->lost, 1, __ATOMIC_RELAXED);
			return;
		}
		if (ahead == 0 && __atomic_compare_exchange_n(&r->head, &n, n + 1, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			break;
		if (ahead > 0)
			n = __atomic_load_n(&r->head, __ATOMIC_RELAXED);
	}
	assay_event *e = &s->event;
	e->at = at;
	e->duration = duration;
	e->conn = conn;
	e->kind = kind;
	e->pages = pages;
	e->id = id;
	e->length = 0;
	if (id == 0 && text != NULL) {
		size_t length = strlen(text);
		e->length = (uint32_t)length;
		memcpy(r->texts[n & r->mask], text, length < sizeof(assay_text) ? length : sizeof(assay_text));
	}
	__atomic_store_n(&s->next, n + 1, __ATOMIC_RELEASE);
}

// set_pace compares the clocks over a while, and returns what they tell now.
static reading set_pace(assay_ring *r) {
	const int64_t least = 10000000, most = 1000000000;
	reading at = read_clocks();
	int64_t ticks = at.ticks - r->since.ticks, time = at.now - r->since.now;
	if (ticks > 0 && time > 0 && (r->pace == 0 || time >= least))
		r->pace = (double)time / (double)ticks;
	if (time >= most || ticks < 0)
		r->since = at;
	return at;
}

int assay_ring_take(assay_ring *r, assay_event *to, assay_text *texts, int n) {
	int taken = 0;
	reading at = {0};
	for (; taken < n; taken++, r->tail++) {
		slot *s = &r->slots[r->tail & r->mask];
		if (__atomic_load_n(&s->next, __ATOMIC_ACQUIRE) != r->tail + 1)
			break;
		if (taken == 0)
			at = set_pace(r);
		assay_event *e = &to[taken];
		*e = s->event;
		e->at = at.now - (int64_t)((double)(at.ticks - e->at) * r->pace);
		e->duration = (int64_t)((double)e->duration * r->pace);
		if (s->event.length > 0)
			memcpy(texts[taken], r->texts[r->tail & r->mask], sizeof(assay_text));
		__atomic_store_n(&s->next, r->tail + r->mask + 1, __ATOMIC_RELEASE);
	}
	return taken;
}

uint64_t assay_ring_lost(assay_ring *r) { return __atomic_load_n(&r->lost, __ATOMIC_RELAXED); }
