// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * seal.c - the key file, and the seal on each message.
 *
 * Whoever has the key of a cluster may speak in it, so the file must be for its owner's eyes only; one that others can read is refused,
 * not warned about. Each node and each start of it (epoch) gets a key of its own by derivation, so nodes never share a nonce and
 * need no agreement. Two keys may be live: both are accepted, and who sends takes the one that all peers know (node.c).
 *
 * The primitives are libsodium's: crypto_kdf (BLAKE2b) and XChaCha20-Poly1305. Keys are wiped when they go. Called by node.c and
 * peer.c; the messages' layout is wire.h's. Does not: know windows or trust.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "xlbd/cleanup.h"
#include "xlbd/sync/seal.h"
#include "xlbd/sync/wire.h"

#define FILE_MAX 4096

_Static_assert(SEAL_KEY == crypto_kdf_KEYBYTES && SEAL_KEY == crypto_kdf_BYTES_MIN + 16, "32");
_Static_assert(SEAL_KEY == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "the cipher's");
_Static_assert(WIRE_TAG == crypto_aead_xchacha20poly1305_ietf_ABYTES, "the cipher's");

#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES

/* ---- the key file ----------------------------------------------------------------------------- */

static int parse_line(const char *line, unsigned number, uint16_t cluster, struct keyring *ring,
                      char sentence[SEAL_SENTENCE])
{
	uint8_t master[SEAL_KEY];
	char digits[2 * SEAL_KEY + 2];
	struct seal_key *key = &ring->key[ring->count];
	size_t length = 0;
	unsigned id;
	int used = 0;

	if (sscanf(line, " %u %65[0-9a-fA-F] %n", &id, digits, &used) != 2 || line[used] ||
	    id >= SEAL_IDS ||
	    sodium_hex2bin(master, sizeof(master), digits, strlen(digits), NULL, &length, NULL) ||
	    length != sizeof(master)) {
		snprintf(sentence, SEAL_SENTENCE,
		         "line %u is not 'ID KEY' with an id of 0 to 15 and 64 hexadecimal digits",
		         number);
		return -EINVAL;
	}
	if (ring->count == SEAL_KEYS || keyring_find(ring, (uint8_t)id)) {
		snprintf(sentence, SEAL_SENTENCE, "line %u: %s", number,
		         ring->count == SEAL_KEYS ? "more than two keys" : "the same id again");
		return -EINVAL;
	}
	key->id = (uint8_t)id;
	crypto_kdf_derive_from_key(key->bytes, SEAL_KEY, cluster, "xlbdclus", master);
	ring->count++;
	sodium_memzero(master, sizeof(master));
	sodium_memzero(digits, sizeof(digits));
	return 0;
}

int keyring_parse(char *text, uint16_t cluster, struct keyring *ret,
                  char ret_sentence[SEAL_SENTENCE])
{
	struct keyring ring = {};
	char *rest = text, *line;
	unsigned number = 0;
	int r = sodium_init() < 0 ? -EIO : 0;

	if (r < 0)
		snprintf(ret_sentence, SEAL_SENTENCE, "libsodium cannot be used");
	while (r == 0 && (line = strsep(&rest, "\n"))) {
		number++;
		line[strcspn(line, "#\r")] = '\0';
		if (line[strspn(line, " \t")])
			r = parse_line(line, number, cluster, &ring, ret_sentence);
	}
	if (r == 0 && !ring.count) {
		snprintf(ret_sentence, SEAL_SENTENCE, "holds no key");
		r = -EINVAL;
	}
	if (r == 0)
		*ret = ring;
	keyring_forget(&ring);
	return r;
}

static int check_file(int fd, char sentence[SEAL_SENTENCE])
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode)) {
		snprintf(sentence, SEAL_SENTENCE, "is not a file");
		return -EINVAL;
	}
	if (status.st_mode & 077) {
		snprintf(sentence, SEAL_SENTENCE,
		         "has mode %04o: others could read the key; make it 0600, and make a new "
		         "key",
		         status.st_mode & 07777);
		return -EPERM;
	}
	if (status.st_uid != 0 && status.st_uid != geteuid()) {
		snprintf(sentence, SEAL_SENTENCE, "belongs to user %u, neither root nor us",
		         status.st_uid);
		return -EPERM;
	}
	return 0;
}

int keyring_read(const char *path, uint16_t cluster, struct keyring *ret,
                 char ret_sentence[SEAL_SENTENCE])
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[FILE_MAX + 1];
	ssize_t size;
	int r;

	if (fd < 0) {
		r = -errno;
		snprintf(ret_sentence, SEAL_SENTENCE, "cannot be opened: %s", strerror(errno));
		return r;
	}
	snprintf(ret_sentence, SEAL_SENTENCE, "cannot be looked at");
	r = check_file(fd, ret_sentence);
	if (r < 0)
		return r;
	size = read(fd, text, FILE_MAX);
	if (size < 0) {
		r = -errno;
		snprintf(ret_sentence, SEAL_SENTENCE, "cannot be read: %s", strerror(errno));
		return r;
	}
	text[size] = '\0';
	r = keyring_parse(text, cluster, ret, ret_sentence);
	sodium_memzero(text, sizeof(text));
	return r;
}

const struct seal_key *keyring_find(const struct keyring *ring, uint8_t id)
{
	for (size_t i = 0; i < ring->count; i++)
		if (ring->key[i].id == id)
			return &ring->key[i];
	return NULL;
}

uint16_t keyring_ids(const struct keyring *ring)
{
	uint16_t ids = 0;

	for (size_t i = 0; i < ring->count; i++)
		ids |= (uint16_t)(1u << ring->key[i].id);
	return ids;
}

void keyring_forget(struct keyring *ring)
{
	sodium_memzero(ring, sizeof(*ring));
}

/* ---- the seal --------------------------------------------------------------------------------- */

void seal_derive(const struct seal_key *key, uint16_t sender, uint64_t epoch, uint8_t ret[SEAL_KEY])
{
	uint8_t node[SEAL_KEY];

	crypto_kdf_derive_from_key(node, SEAL_KEY, sender, "xlbdnode", key->bytes);
	crypto_kdf_derive_from_key(ret, SEAL_KEY, epoch, "xlbdepoc", node);
	sodium_memzero(node, sizeof(node));
}

/* Epoch and sequence as the header has them, then the channel. */
static void make_nonce(const uint8_t *header, uint8_t nonce[NONCE])
{
	memset(nonce, 0, NONCE);
	memcpy(nonce, header + 8, 16);
	nonce[16] = header[29];
}

size_t seal_close(const uint8_t key[SEAL_KEY], uint8_t *message, size_t length)
{
	uint8_t nonce[NONCE];

	make_nonce(message, nonce);
	crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
		message + WIRE_HEADER, message + length, NULL, message + WIRE_HEADER,
		length - WIRE_HEADER, message, WIRE_HEADER, NULL, nonce, key);
	return length + WIRE_TAG;
}

int seal_open(const uint8_t key[SEAL_KEY], uint8_t *message, size_t length)
{
	uint8_t nonce[NONCE];

	if (length < WIRE_HEADER + WIRE_TAG)
		return -EBADMSG;
	length -= WIRE_TAG;
	make_nonce(message, nonce);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
		    message + WIRE_HEADER, NULL, message + WIRE_HEADER, length - WIRE_HEADER,
		    message + length, message, WIRE_HEADER, nonce, key))
		return -EBADMSG;
	return (int)length;
}
