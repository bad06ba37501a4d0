/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seal.h - who may speak: the key file, the keys of nodes and epochs, and the seal on a message.
 */
#ifndef XLBD_SYNC_SEAL_H
#define XLBD_SYNC_SEAL_H

#include <stddef.h>
#include <stdint.h>

#define SEAL_KEY      32
#define SEAL_KEYS     2  /* live at the same time */
#define SEAL_IDS      16 /* 0 .. 15 */
#define SEAL_SENTENCE 300

struct seal_key {
	uint8_t id;
	uint8_t bytes[SEAL_KEY]; /* of the cluster */
};

struct keyring {
	struct seal_key key[SEAL_KEYS];
	size_t count;
};

/*
 * Reads a key file: lines "ID KEY", KEY in 64 hexadecimal digits; # begins a comment. At most two keys. -EINVAL, -EPERM (others may
 * read or write it) or what open(2) says, with a sentence for people in `ret_sentence`.
 */
int keyring_read(const char *path, uint16_t cluster, struct keyring *ret,
                 char ret_sentence[SEAL_SENTENCE]);
/* The same from text. */
int keyring_parse(char *text, uint16_t cluster, struct keyring *ret,
                  char ret_sentence[SEAL_SENTENCE]);
const struct seal_key *keyring_find(const struct keyring *ring, uint8_t id); /* NULL: none */
uint16_t keyring_ids(const struct keyring *ring);                            /* a bit each */
void keyring_forget(struct keyring *ring);

void seal_derive(const struct seal_key *key, uint16_t sender, uint64_t epoch,
                 uint8_t ret[SEAL_KEY]);
/* Encrypts the body behind the header of `length` bytes in all and puts the tag behind it. The new length. */
size_t seal_close(const uint8_t key[SEAL_KEY], uint8_t *message, size_t length);
/* Decrypts in place. The length without the tag; -EBADMSG: not sealed with this key, or changed on its way. */
int seal_open(const uint8_t key[SEAL_KEY], uint8_t *message, size_t length);

#endif
