// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_seal.c - the key file and the seal: what others could read is refused, what was changed is not opened.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "xlbd/sync/seal.h"
#include "xlbd/sync/wire.h"

#define HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static int parse(const char *text, struct keyring *ret)
{
	char copy[1000], sentence[SEAL_SENTENCE] = "";
	int r;

	snprintf(copy, sizeof(copy), "%s", text);
	r = keyring_parse(copy, 7, ret, sentence);
	assert_int_equal(sentence[0] != 0, r < 0);
	return r;
}

static void a_key_file_has_one_key_or_two(void **state)
{
	struct keyring ring = {};

	(void)state;
	assert_int_equal(parse("# ours\n\n 3 " HEX " # since May\n", &ring), 0);
	assert_int_equal(ring.count, 1);
	assert_int_equal(keyring_ids(&ring), 1 << 3);
	assert_int_equal(parse("3 " HEX "\n15 " HEX, &ring), 0);
	assert_int_equal(keyring_ids(&ring), 1 << 3 | 1 << 15);
	assert_non_null(keyring_find(&ring, 15));
	assert_null(keyring_find(&ring, 4));
}

static void what_is_no_key_file_is_refused(void **state)
{
	static const char *const texts[] = {"",
	                                    "# nothing\n",
	                                    "16 " HEX,
	                                    "1 " HEX "0",
	                                    "1 00",
	                                    "1 " HEX " more",
	                                    HEX,
	                                    "1 " HEX "\n1 " HEX,
	                                    "1 " HEX "\n2 " HEX "\n3 " HEX};
	struct keyring ring = {.count = 77};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(parse(texts[i], &ring), -EINVAL);
	assert_int_equal(ring.count, 77);
}

static void clusters_nodes_and_epochs_have_keys_of_their_own(void **state)
{
	char one[] = "1 " HEX, other[] = "1 " HEX, sentence[SEAL_SENTENCE];
	struct keyring seven, eight;
	uint8_t key[5][SEAL_KEY];

	(void)state;
	assert_int_equal(keyring_parse(one, 7, &seven, sentence), 0);
	assert_int_equal(keyring_parse(other, 8, &eight, sentence), 0);
	seal_derive(&seven.key[0], 1, 100, key[0]);
	seal_derive(&seven.key[0], 2, 100, key[1]);
	seal_derive(&seven.key[0], 1, 101, key[2]);
	seal_derive(&eight.key[0], 1, 100, key[3]);
	seal_derive(&seven.key[0], 1, 100, key[4]);
	for (int i = 1; i < 4; i++)
		assert_memory_not_equal(key[0], key[i], SEAL_KEY);
	assert_memory_equal(key[0], key[4], SEAL_KEY);
}

static void a_file_that_others_may_read_is_refused(void **state)
{
	static const mode_t modes[] = {0640, 0604, 0620, 0602, 0677};
	char path[] = "/tmp/xlbd-key-XXXXXX", link[64], sentence[SEAL_SENTENCE];
	int fd = mkstemp(path);
	struct keyring ring;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1 " HEX "\n", 67), 67);
	close(fd);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(keyring_read(path, 7, &ring, sentence), 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_int_equal(keyring_read(path, 7, &ring, sentence), -EPERM);
		assert_non_null(strstr(sentence, "make a new key"));
	}
	assert_int_equal(chmod(path, 0600), 0);
	snprintf(link, sizeof(link), "%s-link", path);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(keyring_read(link, 7, &ring, sentence), -ELOOP);
	unlink(link);
	unlink(path);
	assert_int_equal(keyring_read(path, 7, &ring, sentence), -ENOENT);
	assert_int_equal(keyring_read("/tmp", 7, &ring, sentence), -EINVAL);
}

static void a_seal_opens_with_its_key_and_no_bit_changed(void **state)
{
	struct wire_header header = {.type = WIRE_NAMES, .epoch = 5, .sequence = 6};
	uint8_t key[SEAL_KEY] = {1}, other[SEAL_KEY] = {2}, message[100], sealed[100];
	size_t length;

	(void)state;
	wire_put_header(&header, message);
	memset(message + WIRE_HEADER, 0x55, 20);
	length = seal_close(key, message, WIRE_HEADER + 20);
	assert_int_equal(length, WIRE_HEADER + 20 + WIRE_TAG);
	assert_memory_not_equal(message + WIRE_HEADER, "\x55\x55\x55\x55", 4);
	memcpy(sealed, message, length);
	for (size_t bit = 0; bit < 8 * length; bit++) {
		memcpy(message, sealed, length);
		message[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(seal_open(key, message, length), -EBADMSG);
	}
	for (size_t cut = 0; cut < length; cut++) {
		memcpy(message, sealed, length);
		assert_int_equal(seal_open(key, message, cut), -EBADMSG);
	}
	memcpy(message, sealed, length);
	assert_int_equal(seal_open(other, message, length), -EBADMSG);
	memcpy(message, sealed, length);
	assert_int_equal(seal_open(key, message, length), WIRE_HEADER + 20);
	for (int i = 0; i < 20; i++)
		assert_int_equal(message[WIRE_HEADER + i], 0x55);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_file_has_one_key_or_two),
		cmocka_unit_test(what_is_no_key_file_is_refused),
		cmocka_unit_test(clusters_nodes_and_epochs_have_keys_of_their_own),
		cmocka_unit_test(a_file_that_others_may_read_is_refused),
		cmocka_unit_test(a_seal_opens_with_its_key_and_no_bit_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
