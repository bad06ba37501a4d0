// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_hash.c - bpf/lib/hash.h on the host: the values that IPVS of a 64-bit kernel computes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/hash.h"
#include "tests/unit/hash_vectors.h"
#include "xlbd/cleanup.h"
#include "xlbd/model/addr.h"

static uint32_t folded(const char *text)
{
	struct xlb_addr addr;

	assert_true(addr_parse(text, &addr));
	return hash_fold(&addr);
}

static void an_ipv4_address_folds_to_its_host_order_word(void **state)
{
	(void)state;
	assert_int_equal(folded("10.0.0.1"), 0x0a000001);
	assert_int_equal(folded("0.0.0.0"), 0);
	assert_int_equal(folded("255.255.255.255"), 0xffffffff);
}

static void an_ipv6_address_folds_to_the_xor_of_its_words(void **state)
{
	(void)state;
	assert_int_equal(folded("2001:db8::1"), 0x20010db8 ^ 1);
	assert_int_equal(folded("1:2:3:4:5:6:7:8"),
	                 0x00010002 ^ 0x00030004 ^ 0x00050006 ^ 0x00070008);
	/* looks like a mapped address, is none: all words count */
	assert_int_equal(folded("1::ffff:10.0.0.1"), 0x00010000 ^ 0xffff ^ 0x0a000001);
	assert_int_equal(folded("::10.0.0.1"), 0x0a000001);
}

static void siphash_has_the_kernels_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(siphash_vectors); i++) {
		assert_int_equal(hash_siphash(siphash_vectors[i].word, HASH_MH_KEY1),
		                 siphash_vectors[i].key1);
		assert_int_equal(hash_siphash(siphash_vectors[i].word, HASH_MH_KEY2),
		                 siphash_vectors[i].key2);
	}
}

static void a_client_finds_the_kernels_place(void **state)
{
	(void)state;
	for (size_t v = 0; v < ARRAY_SIZE(hash_vectors); v++) {
		for (size_t i = 0; i < hash_vectors[v].lookup_count; i++) {
			const struct hash_lookup *lookup = &hash_vectors[v].lookup[i];
			uint32_t client = folded(lookup->client);

			assert_int_equal(hash_mh(client, lookup->port, 0) % 4093, lookup->mh_place);
			assert_int_equal(hash_sh(client, lookup->port, 0), lookup->sh_place);
		}
	}
}

static void a_virtual_address_finds_the_kernels_bucket(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(dh_vectors); i++)
		assert_int_equal(hash_dh(folded(dh_vectors[i].vip)), dh_vectors[i].bucket);
}

static void port_and_offset_are_added_to_the_address(void **state)
{
	(void)state;
	assert_int_equal(hash_mh(1000, 24, 3), hash_mh(1027, 0, 0));
	assert_int_equal(hash_mh(0xffffffff, 1, 0), hash_mh(0, 0, 0));
	assert_int_equal(hash_sh(1000, 24, 0), hash_sh(1024, 0, 0));
	/* of sh the offset is added behind the hash, and wraps */
	assert_int_equal(hash_sh(7, 0, 255), (hash_sh(7, 0, 0) + 255) % 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ipv4_address_folds_to_its_host_order_word),
		cmocka_unit_test(an_ipv6_address_folds_to_the_xor_of_its_words),
		cmocka_unit_test(siphash_has_the_kernels_values),
		cmocka_unit_test(a_client_finds_the_kernels_place),
		cmocka_unit_test(a_virtual_address_finds_the_kernels_bucket),
		cmocka_unit_test(port_and_offset_are_added_to_the_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
